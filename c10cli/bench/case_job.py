"""The child process that checks and measures a case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.bench.environment import max_rss_bytes
from c10cli.bench.outcome import CaseResult, Status
from c10cli.bench.plan import Case, MadeCases, find_cases
from c10cli.bench.rungs import make_operator, make_rounds
from c10cli.bench.sampling import Budget, find_observers, measure_together, steady_state
from c10cli.bench.timed_path import TimedPath
from c10cli.describe import describe_error
from c10cli.dispatch.kernel import BoundKernel, OpKernel
from c10cli.errors import BenchError, C10Error, Diagnostic, InternalError, KernelError, ManifestError
from c10cli.jobs.child import At, DoItem, import_libraries, serve
from c10cli.jobs.fingerprint import check_same
from c10cli.manifest.declarations import OperatorDecl
from c10cli.manifest.link import load_registry
from c10cli.verify.cost import evaluate_cost
from c10cli.verify.inputs import Arguments, is_of_case, make_arguments, place_case, shapes_text
from c10cli.verify.kernel_call import as_kernel_error
from c10cli.verify.reference import Expectation, check_kernel, expect

# What torch and jax say where memory runs out.
_NO_MEMORY = re.compile("^OutOfMemoryError|can't allocate memory|RESOURCE_EXHAUSTED: Out of memory")


def prepare(job: Mapping[str, Any]) -> DoItem:
    """The function that measures one of the cases whose ids the job names under ``cases``.

    Raises:
        ManifestError: C10E101, what was planned for was changed.
    """
    registry = load_registry(job["registry"], partly=True)
    check_same(registry.manifest, job["fingerprint"])
    made = MadeCases(*job["made"]) if job.get("made") else None
    cases, ids = find_cases(registry, made), job["cases"]
    import_libraries(cases[ids[number]].variant.kernel for number in job["items"])
    return lambda number, at: _measure(cases[ids[number]], job["time_s"], job["seed"], at).to_dict()


def _measure(case: Case, time_s: float, seed: int, at: At) -> CaseResult:
    """The case's result, whatever its kernel raises."""
    result, decl = case.result, case.linked.decl
    try:
        bound = case.linked.bind(case.variant.kernel)
        at("the inputs")
        arguments = make_arguments(decl, case.point, seed=seed)
        case.linked.check_takes(case.variant.kernel, arguments)
        at("the reference")
        expectation = expect(decl, case.point, arguments=arguments)
        at("")
        result = _described(result, decl, expectation.arguments)
        return _timed(case, bound, expectation, result, time_s, seed)
    except C10Error as error:
        status, finding = _status_of(error), error.diagnostics[0]
    except MemoryError as error:
        text = f"not enough memory: {error}" if str(error) else "not enough memory"
        status, finding = "out-of-memory", Diagnostic("C10E606", text)
    return replace(result, status=status, code=finding.code, reason=finding.message)


def _described(result: CaseResult, decl: OperatorDecl, arguments: Arguments) -> CaseResult:
    """*result* with shapes and cost, or with what is wrong with the cost, no fault of the kernel."""
    result = replace(result, shapes=shapes_text(arguments))
    try:
        nbytes, flops = evaluate_cost(decl, arguments)
    except ManifestError as error:
        return replace(result, checks={"cost": error.diagnostics[0].message})
    return replace(result, bytes=nbytes, flops=flops)


def _timed(
    case: Case, bound: BoundKernel, expectation: Expectation, result: CaseResult, time_s: float, seed: int
) -> CaseResult:
    """Check, measure, check again: no time without a correct result."""
    decl, kernel = case.linked.decl, case.variant.kernel
    key = kernel.dispatch_key
    # Copies, because the contents of what is timed will be changed.
    timed = place_case(decl, case.point, expectation.arguments, kernel)
    operator = make_operator(decl.schema, bound, key)
    path = TimedPath(decl, kernel.name, operator.call, timed)

    def check() -> None:
        alone = OpKernel(case.linked.handle.calling, DispatchKey(key), bound)
        wrong = check_kernel(decl, kernel, alone, expectation)
        if wrong:
            raise KernelError(wrong[0])
        path.check(expectation)

    check()
    with steady_state():
        observers = {*find_observers()}  # those of before, and those that the kernel sets
        rounds = make_rounds(operator, bound, key, timed, kernel.arrays)
        budget = Budget(min_samples=10, time_ns=int(time_s * 1e9))
        try:
            ladder = measure_together(rounds, budget, seed=seed)
        except (KeyboardInterrupt, InternalError, BenchError):
            raise
        except BaseException as error:
            raise as_kernel_error(decl.schema, kernel.name, error, timed) from error
        observers |= {*find_observers()}
    check()
    checks: dict[str, object] = {
        "before": "ok",
        "after": "ok",
        "against": "none: the operator has no reference" if expectation.returns is None else "reference",
        "follows": path.check_follows(expectation, seed=seed + 1),
        **result.checks,
    }
    checks |= {"observers": sorted(observers)} if observers else {}
    return replace(result, ladder=ladder, max_rss_bytes=max_rss_bytes(), checks=checks)


def _status_of(error: C10Error) -> Status:
    """What a case is called that *error* ended."""
    cause = error.__cause__
    # torch calls that of a device so; torch and jax have no `MemoryError`.
    told = describe_error(cause) if isinstance(cause, RuntimeError) else ""
    if isinstance(cause, MemoryError) or _NO_MEMORY.search(told):
        return "out-of-memory"
    if is_of_case(error) or error.code in ("C10E413", "C10E607"):  # nothing that the kernel could do about
        return "skipped"
    broke_its_promise = isinstance(error, KernelError) and error.code not in ("C10E501", "C10E508")
    return "wrong" if broke_its_promise else "crashed"


if __name__ == "__main__":
    serve(prepare)
