import math

import pytest

from c10cli.bench.stats import Difference
from c10cli.report.units import render_difference, render_ns, render_number, render_percent, render_rate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.001234, "0.00123"),
        (0.9996, "1.00"),
        (1, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.96, "100"),
        (-45.67, "-45.7"),
        (1234, "1230"),
        (98765, "98800"),
        (math.nan, "?"),
        (math.inf, "?"),
    ],
)
def test_numbers_have_three_significant_digits_and_no_exponent(value, text):
    assert render_number(value) == text


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 ns"),
        (0.25, "0.250 ns"),
        (12.34, "12.3 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 µs"),
        (4_561, "4.56 µs"),
        (7_890_000, "7.89 ms"),
        (1.2e9, "1.20 s"),
        (90e9, "90.0 s"),
        (-61.4, "-61.4 ns"),
        (math.inf, "?"),
    ],
)
def test_times_take_the_unit_that_keeps_them_short(time_ns, text):
    assert render_ns(time_ns) == text


@pytest.mark.parametrize(
    ("rate", "unit", "text"),
    [
        (26.4e9, "B", "26.4 GB/s"),
        (980e6, "FLOP", "980 MFLOP/s"),
        (1.5e12, "FLOP", "1.50 TFLOP/s"),
        (12, "B", "12.0 B/s"),
        (0, "B", "0 B/s"),
    ],
)
def test_rates_are_in_powers_of_1000(rate, unit, text):
    assert " ".join(render_rate(rate, unit).split()) == text


@pytest.mark.parametrize(
    ("percent", "text"),
    [(0, "0.0 %"), (0.04, "<0.1 %"), (0.05, "0.1 %"), (12.34, "12.3 %"), (99.96, "100 %"), (123.4, "123 %")],
)
def test_shares_have_one_decimal_below_a_hundred(percent, text):
    assert render_percent(percent) == text


def test_a_difference_within_its_error_is_printed_as_a_bound():
    assert render_difference(Difference(61.4, 1.0)) == "61.4 ns"
    assert render_difference(Difference(2.0, 1.0)) == "2.00 ns"
    assert render_difference(Difference(1.9, 1.0)) == "<2.00 ns"
    assert render_difference(Difference(-30.0, 4.0)) == "<8.00 ns"


def test_a_difference_without_a_finite_error_is_unknown():
    assert render_difference(Difference(5.0, math.inf)) == "?"
