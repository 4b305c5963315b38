"""What a call costs by the manifest's word: bytes moved and operations done."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any, Literal

from c10cli.arrays.evaluate import evaluate
from c10cli.arrays.tensor_types import is_tensor, tensors_of
from c10cli.errors import Diagnostic, ManifestError
from c10cli.manifest.declarations import OperatorDecl
from c10cli.schema.bindings import bind_domain
from c10cli.schema.domain_functions import FUNCTIONS
from c10cli.schema.dtypes import COST_FUNCTIONS
from c10cli.schema.expression import parse_expression
from c10cli.verify.inputs import Arguments, shapes_text


def evaluate_cost(decl: OperatorDecl, arguments: Arguments) -> tuple[float | None, float | None]:
    """Bytes and operations of a call with *arguments*; None where the manifest does not say.

    Raises:
        ManifestError: C10E110, an expression cannot be evaluated, or gives no
            finite number from 0 up; at its place in the manifest.
    """
    return _evaluate(decl, "bytes", arguments), _evaluate(decl, "flops", arguments)


def _evaluate(decl: OperatorDecl, which: Literal["bytes", "flops"], arguments: Arguments) -> float | None:
    text = getattr(decl.cost, which)
    if text is None:
        return None
    functions = {name: function for name, function in FUNCTIONS.items() if name in COST_FUNCTIONS}
    functions |= {"nbytes": _nbytes, "size": _size, "dim": _dim}
    try:
        names = {**arguments, **_domain_names(decl, arguments)}
        return _as_amount(text, evaluate(parse_expression(text), names, functions=functions))
    except ManifestError as error:
        span = decl.node.child("cost").span(which)
        note = f"the arguments are {shapes_text(arguments)}"
        raise ManifestError(*(replace(d, span=span).with_notes(note) for d in error.diagnostics)) from error


def _domain_names(decl: OperatorDecl, arguments: Arguments) -> dict[str, object]:
    """The dims and dtype variables of the operator, for *arguments*."""
    if decl.domain is None:
        return {}
    bindings = bind_domain(decl.domain, arguments, checked=False)
    return {**bindings.dims, **bindings.dtypes}


def _as_amount(text: str, value: object) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    with contextlib.suppress(OverflowError):  # of an integer that no float can hold
        if plain and 0 <= (amount := float(value)) < math.inf:  # type: ignore[arg-type]
            return amount
    came = f"{value!s:.40}" if isinstance(value, int | float | complex) else f"a {type(value).__name__}"
    fact = f"a cost is a finite number from 0 up, and `{text}` gives {came}"
    raise ManifestError(Diagnostic("C10E110", fact))


def _nbytes(value: Any) -> int:
    """Bytes of a tensor, or of all tensors of a list; None counts nothing."""
    return sum(int(t.nbytes) for t in tensors_of(value))


def _size(value: Any, axis: int | None = None) -> int:
    if axis is not None:
        return _dim(value, axis)
    return sum(math.prod(map(int, tensor.shape)) for tensor in tensors_of(value))


def _dim(value: Any, axis: int) -> int:
    """The extent of *axis*; a negative one counts from the end."""
    if not is_tensor(value):
        raise TypeError("`dim` takes a tensor argument and an axis")
    shape = value.shape
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis {axis} of a tensor with {len(shape)} axes")
    return int(shape[axis])
