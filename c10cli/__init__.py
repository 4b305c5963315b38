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

if TYPE_CHECKING:
    from c10cli.dispatch import (
        BoxedKernel,
        Dispatcher,
        DispatchKey,
        DispatchTable,
        KernelCache,
        KernelRegistrar,
        KernelRegistrationBuilder,
        OperatorHandle,
        OpKernel,
        OpSchemaRegistrar,
        define_op_schema,
        drop,
        kernel_registration,
        key_of,
        last,
        ops,
        peek,
        pop,
        push,
        register_tensor_type,
    )
    from c10cli.errors import (
        AmbiguousOverloadError,
        ArgumentError,
        BenchError,
        C10Error,
        Diagnostic,
        DispatchError,
        KernelError,
        ManifestError,
        NoKernelError,
        RegistrationError,
        ReportError,
        SchemaError,
        Span,
        StaleHandleError,
        UnknownOperatorError,
    )
    from c10cli.manifest.link import Registry, load_registry
    from c10cli.schema import Argument, FunctionSchema, OperatorName, parse_schema

_HOME = {
    "c10cli.dispatch": (
        "BoxedKernel",
        "DispatchKey",
        "DispatchTable",
        "Dispatcher",
        "KernelCache",
        "KernelRegistrar",
        "KernelRegistrationBuilder",
        "OpKernel",
        "OpSchemaRegistrar",
        "OperatorHandle",
        "define_op_schema",
        "drop",
        "kernel_registration",
        "key_of",
        "last",
        "ops",
        "peek",
        "pop",
        "push",
        "register_tensor_type",
    ),
    "c10cli.errors": (
        "AmbiguousOverloadError",
        "ArgumentError",
        "BenchError",
        "C10Error",
        "Diagnostic",
        "DispatchError",
        "KernelError",
        "ManifestError",
        "NoKernelError",
        "RegistrationError",
        "ReportError",
        "SchemaError",
        "Span",
        "StaleHandleError",
        "UnknownOperatorError",
    ),
    "c10cli.manifest.link": ("Registry", "load_registry"),
    "c10cli.schema": ("Argument", "FunctionSchema", "OperatorName", "parse_schema"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULE_OF, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
