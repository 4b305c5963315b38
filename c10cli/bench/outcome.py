"""What became of a case and of a run: values that are written, read again and reported.

Format history: ``c10.bench/1``, the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any, Final, Literal

from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.ladder import ladder_steps
from c10cli.bench.record import not_a_result, read_record
from c10cli.bench.sampling import Samples
from c10cli.bench.stats import Difference, Interval, median_interval, noise_percent
from c10cli.errors import InternalError

FORMAT: Final = "c10.bench/1"

Status = Literal["ok", "wrong", "crashed", "out-of-memory", "timeout", "skipped"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case.

    Args:
        point: the values of the sweep, in its order.
        code: of the diagnostic that explains a status other than ``ok``; `reason` is its text.
        samples: of the real call; None unless the status is ``ok``.
        ladder: samples of each rung, taken in turn.
        bytes: what one call reads and writes, by the operator's ``cost``; `flops` too.
        max_rss_bytes: the most memory that the child process held.
        checks: what was checked, and how it came out.
    """

    operator: str
    dispatch_key: str
    variant: str
    case: str
    point: Mapping[str, object]
    dtype: str
    status: Status = "ok"
    shapes: str = ""
    code: str = ""
    reason: str = ""
    samples: Samples | None = None
    ladder: Mapping[str, Samples] = field(default_factory=dict)
    bytes: float | None = None
    flops: float | None = None
    max_rss_bytes: int | None = None
    checks: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status != "ok" and (self.samples or self.ladder):
            raise InternalError(f"{self.id} is {self.status} and yet has a time")

    @property
    def id(self) -> str:
        """The identity of the case across runs, ``c10::add/CPU/numpy/small[rows=4,cols=8]/float32``."""
        sizes = ",".join(f"{name}={value}" for name, value in self.point.items())
        named = f"{self.case}[{sizes}]" if sizes else self.case
        parts = (self.operator, self.dispatch_key, self.variant, named, self.dtype)
        return "/".join(part for part in parts if part)

    @property
    def median_ns(self) -> float | None:
        """The headline: the median time of a call; None without a time."""
        return median(self.samples.per_call_ns) if self.samples else None

    @property
    def interval_ns(self) -> Interval | None:
        """The 95 % confidence interval of `median_ns`."""
        return median_interval(self.samples.per_call_ns) if self.samples else None

    @property
    def noise_percent(self) -> float | None:
        """The spread of the samples relative to their median."""
        return noise_percent(self.samples.per_call_ns) if self.samples else None

    @property
    def uncertainty_percent(self) -> float | None:
        """Half of `interval_ns`, relative to the median."""
        interval, middle = self.interval_ns, self.median_ns
        return 50 * (interval.high - interval.low) / middle if interval and middle else None

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

    def _per_ns(self, amount: float | None) -> float | None:
        return amount / self.median_ns if amount is not None and self.median_ns else None

    def to_dict(self) -> dict[str, object]:
        """The result as JSON-ready data; what follows from the samples is added for other readers."""
        data: dict[str, Any] = {"id": self.id, **asdict(self), "derived": self.derived()}
        return data | (data.pop("samples") or {})

    def derived(self) -> dict[str, float | None]:
        """What follows from the samples, by the names under which it is written."""
        interval, dispatcher = self.interval_ns, self.dispatcher
        return {
            "median_ns": self.median_ns,
            "low_ns": interval.low if interval else None,
            "high_ns": interval.high if interval else None,
            "noise_percent": self.noise_percent,
            "gb_per_s": self.gb_per_s,
            "gflop_per_s": self.gflop_per_s,
            "dispatcher_ns": dispatcher.value if dispatcher else None,
            "dispatcher_error_ns": dispatcher.standard_error if dispatcher else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CaseResult:
        """The result that `to_dict` wrote; what follows from the samples is computed anew.

        Raises:
            BenchError: *data* is not of this form (C10E603).
        """
        return read_record(cls, _nested(data))


def _nested(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """A written case with its samples, which are written beside its other fields, as one of them."""
    return {**case, "samples": case if "samples_ns" in case else None}


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
    plan: Mapping[str, Any] = field(default_factory=dict)
    cases: tuple[CaseResult, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    load_after: tuple[float, ...] = ()
    exit_status: int | None = None

    def to_dict(self) -> dict[str, object]:
        """The run as one JSON-ready object."""
        cases = [case.to_dict() for case in self.cases]
        return {"format": FORMAT, **asdict(replace(self, cases=())), "cases": cases}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunResult:
        """The run that `to_dict` wrote.

        Raises:
            BenchError: *data* is not of this format's version (C10E603).
        """
        if data.get("format") != FORMAT:
            raise not_a_result(f"its format is {data.get('format')!r}; this c10 reads {FORMAT!r}")
        return read_record(cls, {**data, "cases": [_nested(case) for case in data.get("cases", ())]})

    def record(self, kind: Literal["run", "end"]) -> dict[str, object]:
        """The first or the last record of the run's journal: the run without its cases."""
        data = replace(self, cases=()).to_dict()
        del data["cases"], data["skipped"]
        return {"kind": kind, **data}

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> RunResult:
        """The run that a journal holds; a case or kernel met again replaces its earlier record.

        Raises:
            BenchError: the records are not of this format's version (C10E603).
        """
        run: dict[str, Any] = {}
        cases: dict[object, Mapping[str, Any]] = {}
        skipped: dict[object, Mapping[str, Any]] = {}
        for record in records:
            kind = record.get("kind")
            if kind == "case":
                cases[record.get("id")] = record
            elif kind == "skipped":
                skipped[tuple(record.get(name) for name in ("operator", "dispatch_key", "variant"))] = record
            elif kind in ("run", "end"):  # a second `run` is one gone on with, which has not ended yet
                run |= record
        return cls.from_dict({**run, "cases": [*cases.values()], "skipped": [*skipped.values()]})
