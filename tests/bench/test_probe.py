import json

import numpy as np
import pytest

from c10cli.bench import probe
from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.outcome import read_record


def test_the_answer_is_this_machine_with_its_peaks(monkeypatch):
    peaks = Peaks(((4096, 1e9), (8192, 2e9)), 3e9)
    monkeypatch.setattr(probe, "measure_peaks", lambda _threads: peaks)
    job = {"packages": ["numpy", "pytest", "no_such_package"]}
    environment = read_record(Environment, json.loads(json.dumps(probe.prepare(job)(0, print))))
    assert environment.packages["pytest"] == pytest.__version__
    assert "no_such_package" not in environment.packages
    assert environment.peaks == peaks
    assert environment.packages["numpy"] == np.__version__
    assert environment.cpus >= 1


def test_a_rate_is_that_of_the_best_call_after_the_first(monkeypatch):
    monkeypatch.setattr(probe, "_PROBE_NS", 1000)
    costs = iter([1, 500, 200, 400, 400])
    now = 0

    def body():
        nonlocal now
        now += next(costs)

    # 1 ns is not counted; 500, 200, 400 fill 1000 ns.
    assert probe.measure_rate(body, 6.0, clock=lambda: now) == pytest.approx(6.0 / 200e-9)


def test_peaks_are_found_by_probes_of_copies_and_a_product(monkeypatch):
    monkeypatch.setattr(probe, "_PROBE_NS", 0)
    monkeypatch.setattr(probe, "_COPY_FOOTPRINTS", (4096, 8192))
    monkeypatch.setattr(probe, "_MATMUL_SIZE", 8)
    peaks = probe.measure_peaks(2)
    assert [footprint for footprint, _ in peaks.copies] == [4096, 8192]
    assert min(rate for _, rate in peaks.copies) > 0
    assert peaks.matmul_flops_per_s > 0


def test_a_peak_is_the_better_of_two_rounds(monkeypatch):
    copies, products = iter([10.0, 40.0, 20.0, 30.0]), iter([5.0, 6.0])
    monkeypatch.setattr(probe, "_COPY_FOOTPRINTS", (4096, 8192))
    monkeypatch.setattr(probe, "_measure_copy", lambda *_: next(copies))
    monkeypatch.setattr(probe, "_measure_matmul", lambda *_: next(products))
    assert probe.measure_peaks(2) == Peaks(((4096, 20.0), (8192, 40.0)), 6.0)


@pytest.mark.parametrize(
    ("rates", "threads", "expected"), [([3.0, 7.0], 4, 7.0), ([9.0, 7.0], 4, 9.0), ([3.0], 1, 3.0)]
)
def test_a_copy_is_made_by_one_thread_and_by_all_and_the_faster_counts(monkeypatch, rates, threads, expected):
    given = iter(rates)

    def measure(body, work):
        body()
        assert work == 4096.0
        return next(given)

    monkeypatch.setattr(probe, "measure_rate", measure)
    assert probe._measure_copy(4096, threads) == expected
    assert next(given, None) is None


def test_threads_copy_the_whole_array_between_them(monkeypatch):
    copied = []

    def copyto(target, source):
        np_copyto(target, source)
        copied.append(target.size)

    np_copyto = np.copyto
    monkeypatch.setattr(np, "copyto", copyto)
    monkeypatch.setattr(probe, "measure_rate", lambda body, work: (body(), work)[1])
    probe._measure_copy(4096, 3)
    assert sorted(copied) == [170, 171, 171, 512]
