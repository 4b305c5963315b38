"""The child process that checks and measures the cases of one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from c10cli.arrays.keys import DispatchKey
from c10cli.bench.body import Round
from c10cli.bench.environment import max_rss_bytes
from c10cli.bench.ladder import measure_ladder
from c10cli.bench.plan import point_id
from c10cli.bench.result import CaseResult, Status
from c10cli.bench.rungs import make_operator, make_rounds
from c10cli.bench.sampling import Budget, Samples, WarmUpRule
from c10cli.bench.sources import Sources
from c10cli.bench.steady import find_observers, steady_state
from c10cli.bench.timed_path import TimedPath
from c10cli.dispatch.kernel import BoundKernel, OpKernel
from c10cli.errors import BenchError, C10Error, Diagnostic, InternalError, KernelError, ManifestError
from c10cli.jobs.child import Fields, serve
from c10cli.jobs.fingerprint import check_same
from c10cli.manifest.link import LinkedOperator, Variant, load_registry
from c10cli.verify.checked import as_kernel_error
from c10cli.verify.cost import evaluate_cost
from c10cli.verify.inputs import Arguments, CasePoint, case_points, is_of_case, place_case, shapes_text
from c10cli.verify.reference import Expectation, check_kernel, expect

# A run has some hundred rungs to warm up: a short limit for those that a busy
# machine never lets settle.  Whether they did is recorded.
_WARM_UP = WarmUpRule(max_ns=50_000_000)


@dataclass(frozen=True, slots=True)
class Job:
    """What a child process is to measure.

    Args:
        digest: the `fingerprint` of the manifest that the places are in.
        items: the places of the cases in the operator's list of points.
        case_ids: places, these and others, and the id of the case that is meant by each.
        time_s: how long to sample each case.
    """

    registry: str
    digest: Mapping[str, str]
    operator: str
    dispatch_key: str
    variant: str
    items: tuple[int, ...]
    case_ids: tuple[tuple[int, str], ...]
    time_s: float
    seed: int


def prepare(fields: Fields) -> Callable[[int], Fields]:
    """The function that measures the case at a place.

    Raises:
        ManifestError: C10E101, the manifest was changed.
        BenchError: C10E604, another case is at one of the places.
    """
    job = Job(**fields)
    registry = load_registry(job.registry)
    check_same(registry.manifest, job.digest)
    linked = registry.find(job.operator)
    candidate = linked.variant(job.dispatch_key, job.variant)
    points = list(case_points(linked.decl, bench_only=True))
    for place, wanted in job.case_ids:
        found = point_id(linked, candidate, points[place]) if place < len(points) else "no case"
        if found != wanted:
            fact = f"the manifest has {found} where `{wanted}` was to be measured"
            raise BenchError(Diagnostic("C10E604", fact, help="begin the run again"))
    sources = Sources(registry.manifest.folder)
    return lambda place: _Case(linked, candidate, points[place], job, sources).measure().to_dict()


class _Case:
    """One case on its way to a result."""

    def __init__(
        self, linked: LinkedOperator, candidate: Variant, point: CasePoint, job: Job, sources: Sources
    ) -> None:
        self._linked, self._kernel = linked, candidate.kernel
        self._point, self._job, self._sources = point, job, sources
        # What is known of the result so far.
        self._result = CaseResult(
            str(linked.decl.name),
            job.dispatch_key,
            job.variant,
            point.case.name,
            point.values,
            point.dtype,
            "ok",
        )

    def measure(self) -> CaseResult:
        """The case's result, whatever its kernel raises."""
        try:
            return self._measured()
        except C10Error as error:
            return self._failed(_status_of(error), error.diagnostics[0])
        except MemoryError as error:
            text = f"not enough memory: {error}" if str(error) else "not enough memory"
            return self._failed("out-of-memory", Diagnostic("C10E606", text))

    def _failed(self, status: Status, diagnostic: Diagnostic) -> CaseResult:
        return replace(self._result, status=status, code=diagnostic.code, reason=diagnostic.message)

    def _measured(self) -> CaseResult:
        """Check, measure, check again: no time without a correct result."""
        decl, key, seed = self._linked.decl, self._job.dispatch_key, self._job.seed
        bound = self._linked.bind(self._kernel)
        expectation = expect(decl, self._point, seed=seed)
        self._read_sources()  # just imported, and so as they are on the disk
        cost_fault = self._describe(expectation.arguments)
        # Copies, because the contents of what is timed will be changed.
        timed = place_case(decl, self._point, expectation.arguments, key, self._kernel.arrays)
        operator = make_operator(decl.schema, bound, key)
        path = TimedPath(decl, self._job.variant, operator.call, timed, key, self._kernel.arrays)
        self._check(bound, expectation)
        path.check(expectation)
        with steady_state() as state:
            ladder = self._ladder(make_rounds(operator, bound, key, timed, self._kernel.arrays), timed)
        observers = sorted({*state.observers, *find_observers()})
        self._check(bound, expectation)
        path.check(expectation)
        judged = "reference" if expectation.returns is not None else "none: the operator has no reference"
        checks: dict[str, object] = {"before": "ok", "after": "ok", "against": judged}
        checks["follows"] = path.check_follows(expectation, seed=seed + 1)
        checks |= {"observers": observers} if observers else {}
        checks |= {"cost": cost_fault} if cost_fault else {}
        self._read_sources()  # a kernel may import more when it is called
        return replace(
            self._result, samples=ladder["call"], ladder=ladder, max_rss_bytes=max_rss_bytes(), checks=checks
        )

    def _read_sources(self) -> None:
        """Enter what has been imported for the case by now."""
        named = (self._kernel.entry_point, self._kernel.cache, self._linked.decl.reference)
        sources = self._sources.loaded(entry for entry in named if entry is not None)
        self._result = replace(self._result, sources=sources)

    def _describe(self, arguments: Arguments) -> str:
        """Enter shapes and cost; what is wrong with the cost, which is no fault of the kernel."""
        self._result = replace(self._result, shapes=shapes_text(arguments))
        try:
            nbytes, flops = evaluate_cost(self._linked.decl, arguments)
        except ManifestError as error:
            return error.diagnostics[0].message
        self._result = replace(self._result, bytes=nbytes, flops=flops)
        return ""

    def _check(self, bound: BoundKernel, expectation: Expectation) -> None:
        """Refuse a kernel that is not right on copies of the arguments.

        Raises:
            KernelError: see `check_kernel`; C10E504.
        """
        kernel = OpKernel(self._linked.handle.calling(), DispatchKey(self._job.dispatch_key), bound)
        key, arrays = self._job.dispatch_key, self._kernel.arrays
        wrong = check_kernel(self._linked.decl, self._job.variant, kernel, key, expectation, arrays=arrays)
        if wrong:
            raise KernelError(wrong[0])

    def _ladder(self, rounds: Mapping[str, Round], arguments: Arguments) -> dict[str, Samples]:
        """The ladder; what the kernel raises in the middle of it is told as its own."""
        budget = Budget(min_samples=10, time_ns=int(self._job.time_s * 1e9))
        try:
            return measure_ladder(rounds, budget, rule=_WARM_UP, seed=self._job.seed)
        except (KeyboardInterrupt, InternalError, BenchError):
            raise
        except BaseException as error:
            raise as_kernel_error(self._linked.decl.schema, self._job.variant, error, arguments) from error


def _status_of(error: C10Error) -> Status:
    """What a case is called that *error* ended."""
    # torch calls that of a device so, and has no `MemoryError`.
    if isinstance(error.__cause__, MemoryError) or type(error.__cause__).__name__ == "OutOfMemoryError":
        return "out-of-memory"
    if is_of_case(error) or error.code == "C10E607":  # nothing that the kernel could do about
        return "skipped"
    broke_its_promise = isinstance(error, KernelError) and error.code not in ("C10E501", "C10E508")
    return "wrong" if broke_its_promise else "crashed"


if __name__ == "__main__":
    serve(prepare)
