"""The child process that checks and measures a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.bench.body import Round
from c10cli.bench.environment import max_rss_bytes
from c10cli.bench.outcome import CaseResult, Status
from c10cli.bench.plan import Case, find_cases
from c10cli.bench.rungs import make_operator, make_rounds
from c10cli.bench.sampling import Budget, Samples, find_observers, measure_together, steady_state
from c10cli.bench.timed_path import TimedPath
from c10cli.dispatch.kernel import BoundKernel, OpKernel
from c10cli.errors import BenchError, C10Error, Diagnostic, InternalError, KernelError, ManifestError
from c10cli.jobs.child import import_libraries, serve
from c10cli.jobs.fingerprint import check_same
from c10cli.manifest.link import load_registry
from c10cli.verify.cost import evaluate_cost
from c10cli.verify.inputs import Arguments, is_of_case, place_case, shapes_text
from c10cli.verify.kernel_call import as_kernel_error
from c10cli.verify.reference import Expectation, check_kernel, expect

# A run has some hundred rungs to warm up: a short limit for those that a busy
# machine never lets settle.  Whether they did is recorded.
_WARM_UP_NS = 50_000_000


def prepare(job: Mapping[str, Any]) -> Callable[[int], Mapping[str, Any]]:
    """The function that measures one of the cases whose ids the job names under ``cases``.

    Raises:
        ManifestError: C10E101, what was planned for was changed.
    """
    registry = load_registry(job["registry"])
    check_same(registry.manifest, job["fingerprint"])
    cases, ids = find_cases(registry), job["cases"]
    import_libraries(cases[ids[number]].variant.kernel for number in job["items"])
    return lambda number: _Measurement(cases[ids[number]], job["time_s"], job["seed"]).measure().to_dict()


class _Measurement:
    """One case on its way to a result."""

    def __init__(self, case: Case, time_s: float, seed: int) -> None:
        self._decl, self._kernel, self._point = case.linked.decl, case.variant.kernel, case.point
        self._linked, self._time_ns, self._seed = case.linked, int(time_s * 1e9), seed
        self._result = case.result  # what is known of it so far

    def measure(self) -> CaseResult:
        """The case's result, whatever its kernel raises."""
        try:
            return self._measured()
        except C10Error as error:
            status, finding = _status_of(error), error.diagnostics[0]
        except MemoryError as error:
            text = f"not enough memory: {error}" if str(error) else "not enough memory"
            status, finding = "out-of-memory", Diagnostic("C10E606", text)
        return replace(self._result, status=status, code=finding.code, reason=finding.message)

    def _measured(self) -> CaseResult:
        """Check, measure, check again: no time without a correct result."""
        decl, kernel, key = self._decl, self._kernel, self._kernel.dispatch_key
        bound = self._linked.bind(kernel)
        expectation = expect(decl, self._point, seed=self._seed)
        cost_fault = self._describe(expectation.arguments)
        # Copies, because the contents of what is timed will be changed.
        timed = place_case(decl, self._point, expectation.arguments, kernel)
        operator = make_operator(decl.schema, bound, key)
        path = TimedPath(decl, kernel.name, operator.call, timed)
        self._check(bound, expectation)
        path.check(expectation)
        with steady_state():
            observers = {*find_observers()}  # those of before, and those that the kernel sets
            ladder = self._ladder(make_rounds(operator, bound, key, timed, kernel.arrays), timed)
            observers |= {*find_observers()}
        self._check(bound, expectation)
        path.check(expectation)
        judged = "reference" if expectation.returns is not None else "none: the operator has no reference"
        checks = {
            "before": "ok",
            "after": "ok",
            "against": judged,
            "follows": path.check_follows(expectation, seed=self._seed + 1),
            "observers": sorted(observers),
            "cost": cost_fault,
        }
        told = {name: found for name, found in checks.items() if found}
        return replace(self._result, ladder=ladder, max_rss_bytes=max_rss_bytes(), checks=told)

    def _describe(self, arguments: Arguments) -> str:
        """Enter shapes and cost; what is wrong with the cost, which is no fault of the kernel."""
        self._result = replace(self._result, shapes=shapes_text(arguments))
        try:
            nbytes, flops = evaluate_cost(self._decl, arguments)
        except ManifestError as error:
            return error.diagnostics[0].message
        self._result = replace(self._result, bytes=nbytes, flops=flops)
        return ""

    def _check(self, bound: BoundKernel, expectation: Expectation) -> None:
        """Refuse a kernel that is not right on copies of the arguments."""
        key = DispatchKey(self._kernel.dispatch_key)
        kernel = OpKernel(self._linked.handle.calling(), key, bound)
        wrong = check_kernel(self._decl, self._kernel, kernel, expectation)
        if wrong:
            raise KernelError(wrong[0])

    def _ladder(self, rounds: Mapping[str, Round], arguments: Arguments) -> dict[str, Samples]:
        """The ladder; what the kernel raises in the middle of it is told as its own."""
        budget = Budget(min_samples=10, time_ns=self._time_ns)
        try:
            return measure_together(rounds, budget, warm_up_ns=_WARM_UP_NS, seed=self._seed)
        except (KeyboardInterrupt, InternalError, BenchError):
            raise
        except BaseException as error:
            raise as_kernel_error(self._decl.schema, self._kernel.name, error, arguments) from error


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
