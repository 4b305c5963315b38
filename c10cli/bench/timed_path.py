"""The call that is timed, checked with the very objects that it is timed with.

A kernel that remembers results by the identity of its arguments is right on
copies of them, and fast on the same ones again and again.  So the timed
arguments get other contents in place, and the result has to follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from c10cli.arrays.placement import overwrite
from c10cli.arrays.tensor_types import tensors_of
from c10cli.errors import C10Error, Diagnostic, KernelError
from c10cli.manifest.declarations import OperatorDecl
from c10cli.verify.inputs import Arguments, copy_tensors, make_arguments
from c10cli.verify.kernel_call import call_checked
from c10cli.verify.reference import Expectation, expect, find_differences


class TimedPath:
    """A call through the dispatcher, and the placed arguments of all its rounds, which are its own."""

    def __init__(
        self, decl: OperatorDecl, kernel: str, call: Callable[..., Any], arguments: Arguments
    ) -> None:
        self._decl, self._kernel, self._call = decl, kernel, call
        self.arguments = arguments

    def check(self, expectation: Expectation) -> None:
        """Make one call and compare it with *expectation*.

        Raises:
            KernelError: what `call_checked` raises; C10E504.
        """
        schema = self._decl.schema
        # As in the timed rounds, only what the operator writes is copied for each call.
        arguments = copy_tensors(self.arguments) if schema.is_mutable else self.arguments
        returns = call_checked(schema, self._kernel, self._call, arguments)
        found = find_differences(self._decl, self._kernel, arguments, returns, expectation)
        if found:
            raise KernelError(found[0], operator=str(self._decl.name), kernel=self._kernel)

    def check_follows(self, expectation: Expectation, *, seed: int) -> str:
        """Change the contents of the arguments in place, and see the result change with them.

        Gives ``ok``, or why that could not be seen.

        Args:
            expectation: for the contents up to now.
            seed: of the new contents.

        Raises:
            KernelError: C10E504, the result is not that of the new contents.
        """
        if expectation.returns is None:
            return "not checked: the operator has no reference"
        point = expectation.point
        try:
            fresh = make_arguments(self._decl, point, seed=seed)
            other = _other_contents(expectation.arguments, fresh)
            changed = {name: _overwrite(self.arguments[name], value) for name, value in other.items()}
            if not any(changed.values()):
                return "not checked: the arguments have no contents to change in place"
            kept = {n: v for n, v in expectation.arguments.items() if not changed.get(n)}
            now = expect(self._decl, point, arguments={**expectation.arguments, **other, **kept})
        except C10Error as error:
            return f"not checked: {error.diagnostics[0].message}"
        try:
            self.check(now)
        except KernelError as error:
            if error.code != "C10E504":
                raise
            raise KernelError(self._did_not_follow(error.diagnostics[0]), **error.facts) from error.__cause__
        return "ok"

    def _did_not_follow(self, finding: Diagnostic) -> Diagnostic:
        what = f"the result of kernel `{self._kernel}` of `{self._decl.name}` did not follow its arguments"
        note = (
            "the contents of the timed arguments were changed in place, and the kernel was called once more"
        )
        where = finding.message.partition(" differs from the reference in ")[2]
        help = "keep no result by the identity of arguments"
        return replace(finding, message=f"{what} in {where}", help=help).with_notes(note)


def _overwrite(argument: Any, contents: Any) -> bool:
    """Put *contents* into the tensors of *argument*; False where that is not possible."""
    pairs = list(zip(tensors_of(argument), tensors_of(contents), strict=False))
    return bool(pairs) and all([overwrite(tensor, array) for tensor, array in pairs])


def _other_contents(before: Arguments, fresh: Arguments) -> Arguments:
    """Of the arguments that hold arrays, those with contents other than *before*.

    Where no random number makes a difference, floats are halved: that keeps
    their order and their signs, which an operator may rely on.
    """
    other: Arguments = {}
    for contents in (fresh, {name: _halved(value) for name, value in before.items()}):
        other = other or {n: contents[n] for n in before if _bytes(contents[n]) != _bytes(before[n])}
    return other


def _bytes(value: Any) -> list[bytes]:
    return [array.tobytes() for array in tensors_of(value)]


def _halved(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_halved, value))
    is_float = isinstance(value, np.ndarray) and value.dtype.kind in "fcV"
    return (value / 2).astype(value.dtype) if is_float else value
