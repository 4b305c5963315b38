import json
from dataclasses import replace

import pytest

from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.outcome import FORMAT, CaseResult, RunResult, Skipped, read_record
from c10cli.bench.sampling import Samples
from c10cli.errors import BenchError, InternalError

ENVIRONMENT = Environment(
    "3.11.7", "CPython", "Linux", "6", "x86_64", "Some CPU", 4, 2, load=(0.5, 0.25, 0.125)
)
SAMPLES = Samples(10, (1000, 1010, 990, 1020, 1000), disturbed=(3,), warm_up=9, settled=False)
TIMED = CaseResult(
    "c10::add",
    "CPU",
    "numpy",
    "small",
    {"rows": 4, "cols": 8},
    "float32",
    "ok",
    shapes="float32[4, 8], float32[4, 8]",
    ladder={"null": Samples(10, (400,) * 5), "dispatch": Samples(10, (1010,) * 5), "call": SAMPLES},
    bytes=384.0,
    flops=32.0,
    max_rss_bytes=50_000_000,
    checks={"before": "ok", "after": "ok"},
)
WRONG = CaseResult(
    "c10::mul",
    "CPU",
    "numba",
    "odd",
    {},
    "",
    "wrong",
    code="C10E504",
    reason="result differs from the reference",
)
SKIPPED = Skipped("c10::add", "CUDA", "triton", "no CUDA device", "C10E607")
RUN = RunResult(
    "20250102-120005-aa",
    "2025-01-02T12:00:05+00:00",
    ENVIRONMENT,
    {"command": "c10 bench add"},
    (TIMED, WRONG),
    (SKIPPED,),
    load_after=(1.5, 1.0, 0.5),
    exit_status=1,
)
RECORDS = [
    replace(RUN, load_after=(), exit_status=None).record("run"),
    *({"kind": "case", **case.to_dict()} for case in RUN.cases),
    RUN.record("end"),
]


def through_json(data):
    return json.loads(json.dumps(data, allow_nan=False))


def test_the_identity_names_everything_that_makes_a_case():
    assert TIMED.id == "c10::add/CPU/numpy/small[rows=4,cols=8]/float32"
    assert WRONG.id == "c10::mul/CPU/numba/odd"


def test_figures_are_per_call():
    assert TIMED.median_ns == 100
    assert TIMED.gb_per_s == 3.84
    assert TIMED.gflop_per_s == 0.32
    assert TIMED.noise_percent == pytest.approx(1.4826, rel=1e-3)
    assert TIMED.interval_ns == (99, 102)
    assert TIMED.dispatcher.value == 61


def test_a_case_without_a_time_has_no_figures():
    assert (WRONG.median_ns, WRONG.interval_ns, WRONG.noise_percent) == (None, None, None)
    assert (WRONG.gb_per_s, WRONG.gflop_per_s, WRONG.dispatcher) == (None, None, None)


def test_per_cent_of_peak_needs_peaks_a_cost_and_the_cpu():
    peaks = Peaks(((0, 38.4e9),), 1e12)
    assert TIMED.peak_percent(peaks) == pytest.approx(10)
    assert TIMED.peak_percent(None) is None
    assert replace(TIMED, bytes=None, flops=None).peak_percent(peaks) is None
    assert replace(TIMED, dispatch_key="CUDA").peak_percent(peaks) is None


@pytest.mark.parametrize("status", ["wrong", "crashed", "out-of-memory", "timeout", "skipped"])
def test_only_a_correct_case_may_have_a_time(status):
    with pytest.raises(InternalError, match="yet has a time"):
        replace(TIMED, status=status)


@pytest.mark.parametrize("case", [TIMED, WRONG])
def test_a_case_survives_json(case):
    assert read_record(CaseResult, through_json(case.to_dict())) == case


def test_a_written_case_carries_its_figures_for_other_readers():
    data = TIMED.to_dict()
    assert data["id"] == TIMED.id
    assert (data["iterations"], data["samples_ns"]) == (10, (1000, 1010, 990, 1020, 1000))
    assert data["derived"]["median_ns"] == 100
    assert data["derived"]["dispatcher_ns"] == 61


@pytest.mark.parametrize(
    "broken",
    [
        {"status": "fine"},
        {"point": None},
        {"ladder": [1]},
        {"ladder": {"call": {"iterations": "many", "samples_ns": []}}},
        {"ladder": {"call": {"iterations": 1, "samples_ns": 7}}},
        {"bytes": "8"},
    ],
)
def test_a_case_of_another_form_is_refused(broken):
    with pytest.raises(BenchError) as caught:
        read_record(CaseResult, {**TIMED.to_dict(), **broken})
    assert caught.value.code == "C10E603"


def test_a_missing_field_is_named():
    data = TIMED.to_dict()
    del data["dtype"]
    with pytest.raises(BenchError) as caught:
        read_record(CaseResult, data)
    assert caught.value.diagnostics[0].notes == ("CaseResult.dtype is missing",)


def test_a_run_survives_json():
    data = through_json(RUN.to_dict())
    assert data["format"] == FORMAT == "c10.bench/1"
    assert RunResult.from_dict(data) == RUN


def test_a_run_survives_its_journal():
    assert RunResult.from_records(through_json(RECORDS)) == RUN


def test_a_journal_cut_off_gives_what_was_finished():
    records = through_json(RECORDS)
    assert RunResult.from_records(records[:2]) == replace(
        RUN, cases=(TIMED,), load_after=(), exit_status=None
    )


def test_a_resumed_run_replaces_what_it_did_again_and_keeps_its_order():
    again = replace(WRONG, reason="still wrong")
    late = replace(TIMED, dtype="float64")
    resumed = [
        *RECORDS,
        replace(RUN, exit_status=None).record("run"),
        {"kind": "case", **again.to_dict()},
        {"kind": "case", **late.to_dict()},
    ]
    run = RunResult.from_records(through_json(resumed))
    assert run.cases == (TIMED, again, late)
    assert run.exit_status is None
    done = RunResult.from_records(through_json([*resumed, replace(RUN, exit_status=0).record("end")]))
    assert done.exit_status == 0


@pytest.mark.parametrize("version", ["c10.bench/2", None])
def test_another_version_is_refused_by_name(version):
    with pytest.raises(BenchError) as caught:
        RunResult.from_dict({**RUN.to_dict(), "format": version})
    assert caught.value.code == "C10E603"
    assert caught.value.diagnostics[0].notes == (f"its format is {version!r}; this c10 reads 'c10.bench/1'",)


def test_an_empty_journal_is_no_run():
    with pytest.raises(BenchError):
        RunResult.from_records([])


def test_a_start_without_an_environment_is_refused():
    with pytest.raises(BenchError, match="not a result"):
        RunResult.from_records([{"kind": "run", "format": FORMAT, "run_id": "x"}])


def test_a_skipped_kernel_without_a_reason_is_refused():
    records = [{**RUN.record("run"), "skipped": [{"operator": "c10::add"}]}]
    with pytest.raises(BenchError, match="not a result"):
        RunResult.from_records(records)
