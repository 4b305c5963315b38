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
from c10cli.errors import C10Error, KernelError
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
            raise _did_not_follow(error, self._decl, self._kernel) from error.__cause__
        return "ok"


def _overwrite(tensor: Any, array: Any) -> bool:
    """Put *array* into *tensor*, or all of a list into another; False where that is not possible."""
    if isinstance(tensor, list):
        return all([_overwrite(one, other) for one, other in zip(tensor, array, strict=True)])
    return overwrite(tensor, array)


def _other_contents(before: Arguments, fresh: Arguments) -> Arguments:
    """Of the arguments that are arrays or lists of them, those with contents other than *before*.

    Where no random number makes a difference, floats are halved: that keeps
    their order and their signs, which an operator may rely on.
    """
    arrays = {name: value for name, value in before.items() if _holds_arrays(value)}
    other: Arguments = {}
    for contents in (fresh, {name: _halved(value) for name, value in arrays.items()}):
        other = other or {n: contents[n] for n in arrays if _bytes(contents[n]) != _bytes(arrays[n])}
    return other


def _holds_arrays(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(element, np.ndarray) for element in value)
    return isinstance(value, np.ndarray)


def _bytes(value: Any) -> Any:
    return list(map(_bytes, value)) if isinstance(value, list) else value.tobytes()


def _halved(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_halved, value))
    return (value / 2).astype(value.dtype) if value.dtype.kind in "fcV" else value


def _did_not_follow(error: KernelError, decl: OperatorDecl, kernel: str) -> KernelError:
    if error.code != "C10E504":
        return error
    (finding,) = error.diagnostics
    what = f"the result of kernel `{kernel}` of `{decl.name}` did not follow its arguments"
    note = "the contents of the timed arguments were changed in place, and the kernel was called once more"
    where = finding.message.partition(" differs from the reference in ")[2]
    told = replace(finding, message=f"{what} in {where}", help="keep no result by the identity of arguments")
    return KernelError(told.with_notes(note), **error.facts)
