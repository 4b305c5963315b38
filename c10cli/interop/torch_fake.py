"""What torch needs of an operator beside its kernels: shapes and dtypes without data, no silent gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from c10cli.describe import describe
from c10cli.errors import ArgumentError, Diagnostic
from c10cli.manifest.link import LinkedOperator
from c10cli.schema.bindings import bind_domain
from c10cli.schema.domain import Domain
from c10cli.schema.model import Argument, FunctionSchema


def why_no_fake(schema: FunctionSchema, domain: Domain | None) -> str:
    """Why torch can be told no shapes and dtypes of the returns; empty where it can."""
    if all(map(_is_argument, schema.returns)):
        return ""
    if domain is None or not domain.returns:
        return "the domain has no `returns`"
    for declared, value in zip(schema.returns, domain.returns, strict=True):
        is_open = value.axes is None or value.each or [dtype.text for dtype in value.dtypes] == ["any"]
        if not _is_argument(declared) and is_open:
            return f"`{value}` under `returns` leaves shape or dtype open"
    return ""


def _is_argument(declared: Argument) -> bool:
    """Whether the return is an argument that was written."""
    return declared.is_mutable


def make_fake_kernel(linked: LinkedOperator) -> Callable[..., Any]:
    """The kernel for `torch.library.register_fake`: tensors without data, of the domain's shapes and dtypes.

    Sizes may be symbolic; nothing is compared, so that none becomes fixed.
    """
    calling, schema = linked.handle.calling, linked.decl.schema
    names = [argument.name for argument in schema.arguments]

    def fake(*args: Any, **kwargs: Any) -> Any:
        import torch

        values = calling.slow_bind(args, kwargs)
        named, like = dict(zip(names, values, strict=True)), calling.key_tensor_of(values)
        bindings = bind_domain(calling.domain, named, checked=False) if calling.domain else None
        results = []
        for index, declared in enumerate(schema.returns):
            if _is_argument(declared):
                results.append(next(named[a.name] for a in schema.arguments if a.alias == declared.alias))
                continue
            assert bindings is not None  # see `why_no_fake`
            dtype, shape = bindings.expected_return(index)
            if shape is None or not dtype:
                raise _unknown(schema, index, named)
            results.append(torch.empty(shape, dtype=getattr(torch, dtype), device=like.device))
        return results[0] if len(results) == 1 else tuple(results) or None

    return fake


def _unknown(schema: FunctionSchema, index: int, named: dict[str, Any]) -> ArgumentError:
    shown = ", ".join(f"`{name}`: {describe(value)}" for name, value in named.items())
    fact = f"the domain of `{schema.name}` gives return {index} no shape and dtype for {shown}"
    return ArgumentError(Diagnostic("C10E405", fact, help="give arguments inside the domain"))


def is_functional(schema: FunctionSchema) -> bool:
    """Whether the operator writes nothing and returns new tensors, as torch wants it for gradients."""
    returns_new = any("Tensor" in str(declared.type) for declared in schema.returns)
    return returns_new and not any(a.alias for a in (*schema.arguments, *schema.returns))


def refuse_gradient(schema: FunctionSchema) -> Callable[..., NoReturn]:
    """The backward function of an operator that has none: without it torch would leave gradients out."""

    def backward(_ctx: Any, *_gradients: Any) -> NoReturn:
        raise NotImplementedError(f"`{schema.name}` was exported by c10cli without a gradient")

    return backward
