"""What an operator is: the schema language, its values, binding, inference and comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from c10cli._lazy import lazy_names
from c10cli.schema.model import AliasInfo, Argument, Dialect, FunctionSchema, OperatorName
from c10cli.schema.parser import parse_name, parse_schema
from c10cli.schema.types import (
    ANY,
    BASE_TYPES,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    NONE,
    SCALAR,
    SCALAR_TYPE,
    STR,
    SYM_BOOL,
    SYM_INT,
    TENSOR,
    BaseType,
    ClassType,
    DictType,
    GenericType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    VarType,
    is_optional_tensor,
    is_tensor,
    is_tensor_list,
)

if TYPE_CHECKING:
    from c10cli.schema.compat import compare_schemas
    from c10cli.schema.finding import Finding, is_backward_compatible, is_forward_compatible
    from c10cli.schema.infer import infer_schema, type_of
    from c10cli.schema.overloads import ResolvedOverload, resolve_overload

# Reading a manifest needs none of these.
_LATER = {
    "c10cli.schema.compat": "compare_schemas",
    "c10cli.schema.finding": "Finding is_backward_compatible is_forward_compatible",
    "c10cli.schema.infer": "infer_schema type_of",
    "c10cli.schema.overloads": "ResolvedOverload resolve_overload",
}
__getattr__, __dir__, _ = lazy_names(__name__, _LATER)

__all__ = [
    "ANY",
    "BASE_TYPES",
    "BOOL",
    "COMPLEX",
    "DEVICE",
    "FLOAT",
    "GENERATOR",
    "INT",
    "LAYOUT",
    "MEMORY_FORMAT",
    "NONE",
    "SCALAR",
    "SCALAR_TYPE",
    "STR",
    "SYM_BOOL",
    "SYM_INT",
    "TENSOR",
    "AliasInfo",
    "Argument",
    "BaseType",
    "ClassType",
    "Dialect",
    "DictType",
    "Finding",
    "FunctionSchema",
    "GenericType",
    "ListType",
    "OperatorName",
    "OptionalType",
    "ResolvedOverload",
    "TupleType",
    "Type",
    "UnionType",
    "VarType",
    "compare_schemas",
    "infer_schema",
    "is_backward_compatible",
    "is_forward_compatible",
    "is_optional_tensor",
    "is_tensor",
    "is_tensor_list",
    "parse_name",
    "parse_schema",
    "resolve_overload",
    "type_of",
]
