"""What a kernel may return: as many values as its schema says, each of its type."""

from __future__ import annotations

from typing import Any

from c10cli.arrays.tensor_types import is_tensor
from c10cli.describe import describe
from c10cli.dispatch import call_errors
from c10cli.errors import KernelError
from c10cli.schema import types as schema_types
from c10cli.schema.model import FunctionSchema
from c10cli.schema.types import Type


def check_returns(schema: FunctionSchema, kernel: str, result: Any) -> tuple[Any, ...]:
    """*result* as the schema's returns, each of its type.

    Raises:
        KernelError: C10E502.
    """
    wanted = len(schema.returns)
    if wanted == 1:
        values: tuple[Any, ...] = (result,)
    elif isinstance(result, tuple | list):
        values = tuple(result)
    else:
        values = () if result is None else (result,)
    if len(values) != wanted:
        raise call_errors.wrong_returns(schema, result, kernel)
    for index, (declared, value) in enumerate(zip(schema.returns, values, strict=True)):
        if not _fits(declared.type, value):
            raise _wrong_type(schema, kernel, index, value)
    return values


def _wrong_type(schema: FunctionSchema, kernel: str, index: int, value: Any) -> KernelError:
    declared = schema.returns[index]
    name = f" `{declared.name}`" if declared.name else ""
    came, todo = describe(value), ""
    if _is_numpy_scalar(value):
        came, todo = f"the NumPy scalar {value.dtype.name}", "make an array of it: numpy.asarray(...)"
    fact = f"gave {came} for return {index}{name}, declared {declared.type}"
    return call_errors.wrong_return(schema, kernel, fact, todo)


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "SymInt": (int,),
    "float": (float,),
    "bool": (bool,),
    "str": (str,),
    "complex": (complex,),
    "Scalar": (bool, int, float, complex),
}


def _fits(declared: Type, value: Any) -> bool:
    """Whether *value* may be returned as *declared*; types without a rule take anything."""
    if declared == schema_types.TENSOR:
        return is_tensor(value)
    if isinstance(declared, schema_types.OptionalType):
        return value is None or _fits(declared.element, value)
    if isinstance(declared, schema_types.ListType):
        return isinstance(value, list | tuple) and all(_fits(declared.element, v) for v in value)
    accepted = _PYTHON_TYPES.get(str(declared))
    if accepted is None:
        return True
    plain = value.item() if _is_numpy_scalar(value) else value
    return isinstance(plain, accepted) and (bool in accepted or not isinstance(plain, bool))


def _is_numpy_scalar(value: object) -> bool:
    return any(c.__name__ == "generic" and c.__module__ == "numpy" for c in type(value).__mro__)
