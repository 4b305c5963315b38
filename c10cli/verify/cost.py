"""What a call costs by the manifest's word: bytes moved and operations done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from c10cli.arrays.expression import evaluate, parse_expression
from c10cli.dispatch.tensor_types import is_tensor
from c10cli.manifest.model import OperatorDecl
from c10cli.verify.inputs import Arguments, tensors_of


def evaluate_cost(decl: OperatorDecl, arguments: Arguments) -> tuple[float | None, float | None]:
    """Bytes and operations of a call with *arguments*; None where the manifest does not say.

    Raises:
        ManifestError: C10E110, an expression cannot be evaluated.
    """
    return _evaluate(decl.cost.bytes, arguments), _evaluate(decl.cost.flops, arguments)


def _evaluate(text: str | None, arguments: Arguments) -> float | None:
    if text is None:
        return None
    functions: dict[str, Callable[..., object]] = {"nbytes": _nbytes, "size": _size, "dim": _dim}
    return float(evaluate(parse_expression(text), arguments, functions=functions))


def _nbytes(value: Any) -> int:
    """Bytes of a tensor, or of all tensors of a list; None counts nothing."""
    return sum(int(t.nbytes) for t in tensors_of(value))


def _size(value: Any) -> int:
    return sum(_elements(t) for t in tensors_of(value))


def _elements(tensor: Any) -> int:
    count = 1
    for extent in tensor.shape:
        count *= int(extent)
    return count


def _dim(value: Any, axis: int) -> int:
    """The extent of *axis*; a negative one counts from the end."""
    if not is_tensor(value):
        raise TypeError("`dim` takes a tensor argument and an axis")
    shape = value.shape
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis {axis} of a tensor with {len(shape)} axes")
    return int(shape[axis])
