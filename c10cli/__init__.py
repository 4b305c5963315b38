"""An operator registry with schemas, a c10 dispatcher, a gate for kernels and a benchmark.

The public names are imported when they are first used, so that importing the
package costs next to nothing.

>>> import numpy
>>> from c10cli import Dispatcher
>>> dispatcher = Dispatcher()
>>> op = dispatcher.register_schema("demo::add(Tensor x, Tensor y) -> Tensor")
>>> with dispatcher.register_kernel(op, "CPU", lambda x, y: x + y):
...     op.call(numpy.array([1, 2]), numpy.array([3, 4]))
array([4, 6])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:  # `as` makes them public to type checkers
    from c10cli.arrays.keys import DispatchKey as DispatchKey
    from c10cli.arrays.tensor_types import key_of as key_of, register_tensor_type as register_tensor_type
    from c10cli.diff.schemas import SchemaChange as SchemaChange, compare_schemas as compare_schemas
    from c10cli.dispatch.calling import drop as drop, last as last, peek as peek, pop as pop, push as push
    from c10cli.dispatch.dispatch_table import DispatchTable as DispatchTable
    from c10cli.dispatch.dispatcher import Dispatcher as Dispatcher, KernelRegistrar as KernelRegistrar
    from c10cli.dispatch.kernel import (
        BoxedKernel as BoxedKernel,
        KernelCache as KernelCache,
        OpKernel as OpKernel,
    )
    from c10cli.dispatch.operator import OperatorHandle as OperatorHandle
    from c10cli.dispatch.registration import (
        KernelRegistrationBuilder as KernelRegistrationBuilder,
        OpSchemaRegistrar as OpSchemaRegistrar,
        define_op_schema as define_op_schema,
        kernel_registration as kernel_registration,
        ops as ops,
    )
    from c10cli.errors import (
        AmbiguousOverloadError as AmbiguousOverloadError,
        ArgumentError as ArgumentError,
        BenchError as BenchError,
        C10Error as C10Error,
        Diagnostic as Diagnostic,
        DispatchError as DispatchError,
        KernelError as KernelError,
        ManifestError as ManifestError,
        NoKernelError as NoKernelError,
        RegistrationError as RegistrationError,
        ReportError as ReportError,
        SchemaError as SchemaError,
        Span as Span,
        StaleHandleError as StaleHandleError,
        UnknownOperatorError as UnknownOperatorError,
    )
    from c10cli.manifest.link import Registry as Registry, load_registry as load_registry
    from c10cli.schema.infer import infer_schema as infer_schema, type_of as type_of
    from c10cli.schema.model import (
        Argument as Argument,
        FunctionSchema as FunctionSchema,
        OperatorName as OperatorName,
    )
    from c10cli.schema.parser import parse_schema as parse_schema

_HOMES = {
    "c10cli.arrays.keys": "DispatchKey",
    "c10cli.arrays.tensor_types": "key_of register_tensor_type",
    "c10cli.diff.schemas": "SchemaChange compare_schemas",
    "c10cli.dispatch.calling": "drop last peek pop push",
    "c10cli.dispatch.dispatch_table": "DispatchTable",
    "c10cli.dispatch.dispatcher": "Dispatcher KernelRegistrar",
    "c10cli.dispatch.kernel": "BoxedKernel KernelCache OpKernel",
    "c10cli.dispatch.operator": "OperatorHandle",
    "c10cli.dispatch.registration": (
        "KernelRegistrationBuilder OpSchemaRegistrar define_op_schema kernel_registration ops"
    ),
    "c10cli.errors": (
        "AmbiguousOverloadError ArgumentError BenchError C10Error Diagnostic DispatchError KernelError "
        "ManifestError NoKernelError RegistrationError ReportError SchemaError Span StaleHandleError "
        "UnknownOperatorError"
    ),
    "c10cli.manifest.link": "Registry load_registry",
    "c10cli.schema.infer": "infer_schema type_of",
    "c10cli.schema.model": "Argument FunctionSchema OperatorName",
    "c10cli.schema.parser": "parse_schema",
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = [*sorted(_MODULE_OF), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
