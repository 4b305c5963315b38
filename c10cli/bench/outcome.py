"""What became of a case and of a run: values that are written, read again and reported.

Format history: ``c10.bench/1``, the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from statistics import median
from types import UnionType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.ladder import ladder_steps
from c10cli.bench.sampling import Samples
from c10cli.bench.stats import Difference, median_interval, noise_percent
from c10cli.errors import BenchError, Diagnostic, InternalError

FORMAT: Final = "c10.bench/1"
LONGEST_S: Final = 86_400.0

Status = Literal["ok", "wrong", "crashed", "out-of-memory", "timeout", "skipped"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case.

    Args:
        point: the values of the sweep, in its order.
        code: of the diagnostic that explains a status other than ``ok``; `reason` is its text.
        ladder: samples of each rung, taken in turn; empty unless the status is ``ok``.
        bytes: what one call reads and writes, by the operator's ``cost``; `flops` too.
        max_rss_bytes: the most memory that the child process held.
        checks: what was checked, and how it came out.
        printed: the end of what the kernel printed meanwhile.
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
    ladder: Mapping[str, Samples] = field(default_factory=dict)
    bytes: float | None = None
    flops: float | None = None
    max_rss_bytes: int | None = None
    checks: Mapping[str, object] = field(default_factory=dict)
    printed: str = ""

    def __post_init__(self) -> None:
        if self.status != "ok" and self.ladder:
            raise InternalError(f"{self.id} is {self.status} and yet has a time")

    @property
    def id(self) -> str:
        """The identity of the case across runs, ``c10::add/CPU/numpy/small[rows=4,cols=8]/float32``."""
        sizes = ",".join(f"{name}={value}" for name, value in self.point.items())
        named = f"{self.case}[{sizes}]" if sizes else self.case
        parts = (self.operator, self.dispatch_key, self.variant, named, self.dtype)
        return "/".join(part for part in parts if part)

    @property
    def samples(self) -> Samples | None:
        """Those of the real call."""
        return self.ladder.get("call")

    @property
    def median_ns(self) -> float | None:
        """The headline: the median time of a call; None without a time."""
        return median(self.samples.per_call_ns) if self.samples else None

    @property
    def interval_ns(self) -> tuple[float, float] | None:
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
        return 50 * (interval[1] - interval[0]) / middle if interval and middle else None

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
        data = {"id": self.id, **asdict(self), "derived": self.derived()}
        return {**data, **(asdict(self.samples) if self.samples else {})}

    def derived(self) -> dict[str, float | None]:
        """What follows from the samples, by the names under which it is written."""
        (low, high), dispatcher = self.interval_ns or (None, None), self.dispatcher
        return {
            "median_ns": self.median_ns,
            "low_ns": low,
            "high_ns": high,
            "noise_percent": self.noise_percent,
            "gb_per_s": self.gb_per_s,
            "gflop_per_s": self.gflop_per_s,
            "dispatcher_ns": dispatcher.value if dispatcher else None,
            "dispatcher_error_ns": dispatcher.standard_error if dispatcher else None,
        }


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
        c10cli: the version that measured it, the last one where there were several.
        unread: lines of its journal that could not be read.
    """

    run_id: str
    created: str
    environment: Environment
    plan: Mapping[str, Any] = field(default_factory=dict)
    cases: tuple[CaseResult, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    load_after: tuple[float, ...] = ()
    exit_status: int | None = None
    c10cli: str = ""
    unread: int = 0

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
            raise _not_a_result(f"its format is {data.get('format')!r}; this c10 reads {FORMAT!r}")
        run = read_record(cls, data)
        _check_plan(run.plan)
        return run

    def record(self, kind: Literal["run", "end"]) -> dict[str, object]:
        """The first or the last record of the run's journal: the run without its cases."""
        data = replace(self, cases=()).to_dict()
        del data["cases"]
        return {"kind": kind, **data}

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> RunResult:
        """The run that a journal holds; a case met again replaces its earlier record.

        A record of a case that cannot be read is left out, and counted.

        Raises:
            BenchError: the records of the run are not of this format's version (C10E603).
        """
        run: dict[str, Any] = {}
        cases: dict[str, CaseResult] = {}
        unread = 0
        for record in records:
            if record.get("kind") in ("run", "end"):  # a second `run` is one gone on with, not ended yet
                run |= record
                continue
            try:
                case = read_record(CaseResult, record)
                case.derived()
                cases[case.id] = case
            except (ValueError, ArithmeticError, BenchError):
                unread += 1
        read = cls.from_dict({**run, "cases": []})
        return replace(read, cases=tuple(cases.values()), unread=unread)


T = TypeVar("T")

_PLAIN: Mapping[Any, Any] = {str: str, int: int, bool: bool, float: (int, float), object: object, Any: object}
_hints = lru_cache(get_type_hints)


def read_record(kind: type[T], data: Mapping[str, Any]) -> T:
    """The value of the dataclass *kind* that *data* was made of; other fields are left out.

    Raises:
        BenchError: *data* is not of this form (C10E603).
    """
    try:
        value: T = _read(kind, data, kind.__name__)
    except ValueError as error:
        raise _not_a_result(str(error)) from error
    return value


def _not_a_result(reason: str) -> BenchError:
    return BenchError(Diagnostic("C10E603", "not a result of `c10 bench` that can be read", notes=(reason,)))


def _read(kind: Any, data: Any, place: str) -> Any:
    origin, of = get_origin(kind), get_args(kind)
    if origin is UnionType:  # each of ours is of a type and None
        return None if data is None else _read(of[0], data, place)
    if is_dataclass(kind) and isinstance(data, Mapping):
        return _read_fields(kind, data, place)
    if origin is tuple and isinstance(data, list | tuple):
        kinds = of[:1] * len(data) if of[-1] is ... else of
        return tuple(_read(one, value, place) for one, value in zip(kinds, data, strict=True))
    if origin is Mapping and isinstance(data, Mapping):
        return {name: _read(of[1], value, f"{place}.{name}") for name, value in data.items()}
    fits = data in of if origin is Literal else isinstance(data, _PLAIN.get(kind, ()))
    if not fits:
        raise ValueError(f"{place} cannot be {data!r}")
    return data


def _read_fields(kind: Any, data: Mapping[str, Any], place: str) -> Any:
    given = {}
    for declared in fields(kind):
        name, here = declared.name, f"{place}.{declared.name}"
        if name in data:
            given[name] = _read(_hints(kind)[name], data[name], here)
        elif declared.default is declared.default_factory is MISSING:
            raise ValueError(f"{here} is missing")
    try:
        return kind(**given)
    except InternalError as error:
        raise ValueError(str(error)) from error


def _check_plan(plan: Mapping[str, Any]) -> None:
    """Refuse a *plan* that cannot be gone on with.

    Raises:
        BenchError: C10E603.
    """
    read_record(_Plan, plan)
    if any(not 0 < plan[name] <= LONGEST_S for name in ("time_s", "timeout_s") if name in plan):
        raise _not_a_result("its times are no seconds above 0, of a day at most")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is read back of how a run was begun."""

    time_s: float = 0.0
    timeout_s: float = 0.0
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    select: tuple[str, ...] = ()
