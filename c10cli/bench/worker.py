"""The child process that checks and measures the cases of one kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from c10cli.bench.environment import max_rss_bytes
from c10cli.bench.ladder import measure_ladder
from c10cli.bench.result import CaseResult, Status
from c10cli.bench.rungs import make_rounds
from c10cli.bench.sampling import Budget, WarmUpRule
from c10cli.bench.steady import steady_state
from c10cli.dispatch import DispatchKey, OpKernel
from c10cli.errors import C10Error, Diagnostic, KernelError
from c10cli.manifest.link import LinkedOperator, load_registry
from c10cli.verify.child import Fields, serve
from c10cli.verify.cost import evaluate_cost
from c10cli.verify.inputs import CasePoint, case_points, place_arguments, shapes_text
from c10cli.verify.reference import Expectation, check_kernel, expect

# A run has some hundred rungs to warm up: a short limit for those that a busy
# machine never lets settle.  Whether they did is recorded.
_WARM_UP = WarmUpRule(max_ns=50_000_000)


@dataclass(frozen=True, slots=True)
class Job:
    """What a child process is to measure.

    Args:
        items: the places of the cases in the operator's list of points.
        time_s: how long to sample each case.
    """

    registry: str
    operator: str
    dispatch_key: str
    variant: str
    items: tuple[int, ...]
    time_s: float
    seed: int


def prepare(fields: Fields) -> Callable[[int], Fields]:
    """The function that measures the case at a place."""
    job = Job(**fields)
    linked = load_registry(job.registry).find(job.operator)
    points = list(case_points(linked.decl, bench_only=True))
    return lambda place: _measure(linked, points[place], job).to_dict()


def _measure(linked: LinkedOperator, point: CasePoint, job: Job) -> CaseResult:
    """The case's result, whatever its kernel raises."""
    blank = CaseResult(
        str(linked.decl.name), job.dispatch_key, job.variant, point.case.name, point.values, point.dtype, "ok"
    )
    try:
        return _measure_case(linked, point, job, blank)
    except C10Error as error:
        return _failed(blank, _status_of(error), error.diagnostics[0])
    except MemoryError as error:
        text = f"not enough memory: {error}" if str(error) else "not enough memory"
        return _failed(blank, "out-of-memory", Diagnostic("C10E606", text))


def _measure_case(linked: LinkedOperator, point: CasePoint, job: Job, blank: CaseResult) -> CaseResult:
    """Check, measure, check again: no time without a correct result."""
    decl, key = linked.decl, job.dispatch_key
    kernel = linked.variant(key, job.variant).kernel
    bound = linked.bind(kernel)
    op_kernel = OpKernel(linked.handle.calling(), DispatchKey(key), bound)
    expectation = expect(decl, point, seed=job.seed)
    arguments = place_arguments(expectation.arguments, key, kernel.arrays)
    nbytes, flops = evaluate_cost(decl, expectation.arguments)
    blank = replace(blank, shapes=shapes_text(expectation.arguments), bytes=nbytes, flops=flops)
    check = partial(_fault, blank, linked, op_kernel, expectation, kernel.arrays)
    fault = check()
    if fault:
        return fault
    with steady_state():
        rounds = make_rounds(decl.schema, bound, key, arguments)
        budget = Budget(min_samples=10, time_ns=int(job.time_s * 1e9))
        ladder = measure_ladder(rounds, budget, rule=_WARM_UP, seed=job.seed)
    fault = check()
    if fault:
        return fault
    judged = "reference" if expectation.returns is not None else "none: the operator has no reference"
    return replace(
        blank,
        samples=ladder["call"],
        ladder=ladder,
        max_rss_bytes=max_rss_bytes(),
        checks={"before": "ok", "after": "ok", "against": judged},
    )


def _fault(
    blank: CaseResult, linked: LinkedOperator, kernel: OpKernel, expectation: Expectation, arrays: str
) -> CaseResult | None:
    """The case's result where *kernel* is not right on it, else None."""
    try:
        wrong = check_kernel(
            linked.decl, blank.variant, kernel, blank.dispatch_key, expectation, arrays=arrays
        )
    except KernelError as error:
        return _failed(blank, _status_of(error), error.diagnostics[0])
    return _failed(blank, "wrong", wrong[0]) if wrong else None


def _status_of(error: C10Error) -> Status:
    """What a case is called that *error* ended."""
    if isinstance(error.__cause__, MemoryError):
        return "out-of-memory"
    broke_its_promise = isinstance(error, KernelError) and error.code not in ("C10E501", "C10E508")
    return "wrong" if broke_its_promise else "crashed"


def _failed(blank: CaseResult, status: Status, diagnostic: Diagnostic) -> CaseResult:
    return replace(blank, status=status, code=diagnostic.code, reason=diagnostic.message)


if __name__ == "__main__":
    serve(prepare)
