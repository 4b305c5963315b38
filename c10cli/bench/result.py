"""The result of a case and of a run: values that are written, read again and reported.

Format history: ``c10.bench/1``, the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any, Final, Literal, TypeVar, get_args

from c10cli.bench import stats
from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.ladder import ladder_steps
from c10cli.bench.sampling import Samples
from c10cli.bench.stats import Difference, Interval
from c10cli.errors import BenchError, Diagnostic, InternalError

__all__ = ["FORMAT", "CaseResult", "RunResult", "Skipped", "Status", "case_id"]

FORMAT: Final = "c10.bench/1"

Status = Literal["ok", "wrong", "crashed", "out-of-memory", "timeout", "skipped"]
_STATUSES: Final[tuple[str, ...]] = get_args(Status)

T = TypeVar("T")


def case_id(
    operator: str, dispatch_key: str, variant: str, case: str, point: Mapping[str, object], dtype: str
) -> str:
    """The identity of a case across runs, ``c10::add/CPU/numpy/small[rows=4,cols=8]/float32``."""
    sizes = ",".join(f"{name}={value}" for name, value in point.items())
    named = f"{case}[{sizes}]" if sizes else case
    return "/".join(part for part in (operator, dispatch_key, variant, named, dtype) if part)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case.

    Args:
        point: the values of the sweep, in its order.
        shapes: the tensor arguments, as ``float32[4, 8], float32[4, 8]``.
        code: the code of the diagnostic that explains a status other than ``ok``.
        reason: its text.
        samples: chunk times of the real call; None unless the status is ``ok``.
        ladder: samples of each rung, taken in turn.
        bytes: bytes that one call reads and writes, by the operator's ``cost``.
        flops: arithmetic operations of one call, by the same.
        max_rss_bytes: the most memory that the child process held.
        checks: what was checked, and how it came out.
        sources: what the kernel and its reference were imported from, and a digest of each; see `Sources`.
    """

    operator: str
    dispatch_key: str
    variant: str
    case: str
    point: Mapping[str, object]
    dtype: str
    status: Status
    shapes: str = ""
    code: str = ""
    reason: str = ""
    samples: Samples | None = None
    ladder: Mapping[str, Samples] = field(default_factory=dict)
    bytes: float | None = None
    flops: float | None = None
    max_rss_bytes: int | None = None
    checks: Mapping[str, object] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status != "ok" and (self.samples or self.ladder):
            raise InternalError(f"{self.id} is {self.status} and yet has a time")

    @property
    def id(self) -> str:
        """See `case_id`."""
        return case_id(self.operator, self.dispatch_key, self.variant, self.case, self.point, self.dtype)

    @property
    def median_ns(self) -> float | None:
        """The headline: the median time of a call; None without a time."""
        return self._of_times(median)

    @property
    def interval_ns(self) -> Interval | None:
        """The 95 % confidence interval of `median_ns`."""
        return self._of_times(stats.median_interval)

    @property
    def noise_percent(self) -> float | None:
        """The spread of the samples relative to their median."""
        return self._of_times(stats.noise_percent)

    @property
    def gb_per_s(self) -> float | None:
        """`bytes` moved per nanosecond, which is gigabytes per second."""
        return self._per_ns(self.bytes)

    @property
    def gflop_per_s(self) -> float | None:
        """`flops` per nanosecond, which is gigaflops per second."""
        return self._per_ns(self.flops)

    @property
    def dispatcher(self) -> Difference | None:
        """What the dispatcher adds to a call, in nanoseconds; None without a ladder."""
        return ladder_steps(self.ladder).get("dispatcher")

    def peak_percent(self, peaks: Peaks | None) -> float | None:
        """How near the call comes to *peaks*; None without them, without a cost or off the CPU."""
        if peaks is None or not self.median_ns or "CPU" not in self.dispatch_key:
            return None
        return peaks.percent(bytes_moved=self.bytes, flops=self.flops, time_s=self.median_ns * 1e-9)

    def _of_times(self, statistic: Callable[[tuple[float, ...]], T]) -> T | None:
        return statistic(self.samples.per_call_ns) if self.samples else None

    def _per_ns(self, amount: float | None) -> float | None:
        return amount / self.median_ns if amount is not None and self.median_ns else None

    def to_dict(self) -> dict[str, object]:
        """The result as JSON-ready data; what follows from the samples is added for other readers."""
        data: dict[str, object] = {"id": self.id}
        data |= {name: getattr(self, name) for name in _PLAIN_FIELDS}
        data |= {"point": dict(self.point), "checks": dict(self.checks), "sources": dict(self.sources)}
        data |= _samples_to_dict(self.samples) if self.samples else {}
        data["ladder"] = {rung: _samples_to_dict(samples) for rung, samples in self.ladder.items()}
        interval, dispatcher = self.interval_ns, self.dispatcher
        data["derived"] = {
            "median_ns": self.median_ns,
            "low_ns": interval.low if interval else None,
            "high_ns": interval.high if interval else None,
            "noise_percent": self.noise_percent,
            "gb_per_s": self.gb_per_s,
            "gflop_per_s": self.gflop_per_s,
            "dispatcher_ns": dispatcher.value if dispatcher else None,
            "dispatcher_error_ns": dispatcher.standard_error if dispatcher else None,
        }
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CaseResult:
        """The result that `to_dict` wrote; what follows from the samples is computed anew.

        Raises:
            BenchError: *data* is not of this form (C10E603).
        """
        try:
            _STATUSES.index(data["status"])
            return cls(
                **{name: data[name] for name in _PLAIN_FIELDS},
                point=dict(data["point"]),
                checks=dict(data["checks"]),
                sources=dict(data.get("sources", {})),  # which the first writers left out
                samples=_samples_from_dict(data) if data.get("samples_ns") else None,
                ladder={rung: _samples_from_dict(samples) for rung, samples in data["ladder"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _not_a_result(f"a case lacks or misstates {error}") from error


_PLAIN_FIELDS: Final = (
    "operator",
    "dispatch_key",
    "variant",
    "case",
    "dtype",
    "status",
    "shapes",
    "code",
    "reason",
    "bytes",
    "flops",
    "max_rss_bytes",
)


def _samples_to_dict(samples: Samples) -> dict[str, object]:
    return {
        "iterations": samples.iterations,
        "samples_ns": list(samples.chunks_ns),
        "disturbed": list(samples.disturbed),
        "warm_up": samples.warm_up,
        "settled": samples.settled,
    }


def _samples_from_dict(data: Mapping[str, Any]) -> Samples:
    return Samples(
        int(data["iterations"]),
        tuple(data["samples_ns"]),
        tuple(data["disturbed"]),
        int(data["warm_up"]),
        bool(data["settled"]),
    )


@dataclass(frozen=True, slots=True)
class Skipped:
    """An operator's kernel that was not measured at all, and why."""

    operator: str
    dispatch_key: str
    variant: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run.

    Args:
        created: when it began, ISO 8601 in UTC.
        plan: the options it was started with; ``command`` is the command line.
        load_after: load averages at its end.
        exit_status: what the command returned; None for a run that did not end.
    """

    run_id: str
    created: str
    environment: Environment
    plan: Mapping[str, object] = field(default_factory=dict)
    cases: tuple[CaseResult, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    load_after: tuple[float, ...] = ()
    exit_status: int | None = None

    def to_records(self) -> list[dict[str, object]]:
        """The run as the records of a journal, in the order in which a run writes them."""
        return [
            self.start_record(),
            *({"kind": "skipped", **asdict(skipped)} for skipped in self.skipped),
            *({"kind": "case", **case.to_dict()} for case in self.cases),
            self.end_record(),
        ]

    def end_record(self) -> dict[str, object]:
        """The last record of the run's journal; the peaks are known best then."""
        peaks = self.environment.peaks
        return {
            "kind": "end",
            "exit_status": self.exit_status,
            "load_after": list(self.load_after),
            "peaks": asdict(peaks) if peaks else None,
        }

    def start_record(self) -> dict[str, object]:
        """The first record of the run's journal."""
        return {
            "kind": "run",
            "format": FORMAT,
            "run_id": self.run_id,
            "created": self.created,
            "environment": asdict(self.environment),
            "plan": dict(self.plan),
        }

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> RunResult:
        """The run that a journal holds; a case or kernel met again replaces its earlier record.

        Raises:
            BenchError: the records are not of this format's version (C10E603).
        """
        run: RunResult | None = None
        cases: dict[str, CaseResult] = {}
        skipped: dict[tuple[str, str, str], Skipped] = {}
        for record in records:
            kind = record.get("kind")
            if run is None:
                run = _read_start(record)
            elif kind == "run":  # resumed, so it has not ended yet
                run = replace(run, exit_status=None, load_after=())
            elif kind == "case":
                case = CaseResult.from_dict(record)
                cases[case.id] = case
            elif kind == "skipped":
                missed = _read_skipped(record)
                skipped[missed.operator, missed.dispatch_key, missed.variant] = missed
            elif kind == "end":
                run = _read_end(run, record)
        if run is None:
            raise _not_a_result("it is empty")
        return replace(run, cases=tuple(cases.values()), skipped=tuple(skipped.values()))

    def to_dict(self) -> dict[str, object]:
        """The run as one JSON-ready object."""
        start, end = self.start_record(), self.to_records()[-1]
        del start["kind"], end["kind"], end["peaks"]  # which the environment holds
        return {
            **start,
            **end,
            "cases": [case.to_dict() for case in self.cases],
            "skipped": [asdict(skipped) for skipped in self.skipped],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunResult:
        """The run that `to_dict` wrote.

        Raises:
            BenchError: *data* is not of this format's version (C10E603).
        """
        records: list[Mapping[str, Any]] = [{"kind": "run", **data}]
        records += [{"kind": "skipped", **item} for item in data.get("skipped", ())]
        records += [{"kind": "case", **item} for item in data.get("cases", ())]
        return cls.from_records([*records, {"kind": "end", **data}])


def _read_start(record: Mapping[str, Any]) -> RunResult:
    if record.get("format") != FORMAT:
        raise _not_a_result(f"its format is {record.get('format')!r}; this c10 reads {FORMAT!r}")
    try:
        environment = Environment.from_dict(record["environment"])
        return RunResult(record["run_id"], record["created"], environment, dict(record["plan"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _not_a_result(f"its start lacks or misstates {error}") from error


def _read_skipped(record: Mapping[str, Any]) -> Skipped:
    try:
        return Skipped(**{name: record[name] for name in Skipped.__slots__})
    except KeyError as error:
        raise _not_a_result(f"a skipped kernel lacks {error}") from error


def _read_end(run: RunResult, record: Mapping[str, Any]) -> RunResult:
    run = replace(
        run, exit_status=record.get("exit_status"), load_after=tuple(record.get("load_after") or ())
    )
    if not record.get("peaks"):
        return run
    return replace(run, environment=replace(run.environment, peaks=Peaks.from_dict(record["peaks"])))


def _not_a_result(reason: str) -> BenchError:
    return BenchError(Diagnostic("C10E603", "not a result of `c10 bench` that can be read", notes=(reason,)))
