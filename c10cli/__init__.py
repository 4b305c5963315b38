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

from typing import TYPE_CHECKING

from c10cli._lazy import lazy_names, provide

__version__ = "0.1.0"

if TYPE_CHECKING:  # `as` makes them public to type checkers
    from c10cli.dispatch import (
        BoxedKernel as BoxedKernel,
        Dispatcher as Dispatcher,
        DispatchKey as DispatchKey,
        DispatchTable as DispatchTable,
        KernelCache as KernelCache,
        KernelRegistrar as KernelRegistrar,
        KernelRegistrationBuilder as KernelRegistrationBuilder,
        OperatorHandle as OperatorHandle,
        OpKernel as OpKernel,
        OpSchemaRegistrar as OpSchemaRegistrar,
        define_op_schema as define_op_schema,
        drop as drop,
        kernel_registration as kernel_registration,
        key_of as key_of,
        last as last,
        ops as ops,
        peek as peek,
        pop as pop,
        push as push,
        register_tensor_type as register_tensor_type,
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
    from c10cli.schema import (
        Argument as Argument,
        Finding as Finding,
        FunctionSchema as FunctionSchema,
        OperatorName as OperatorName,
        compare_schemas as compare_schemas,
        infer_schema as infer_schema,
        parse_schema as parse_schema,
        type_of as type_of,
    )

_HOMES = {
    "c10cli.dispatch": (
        "BoxedKernel DispatchKey DispatchTable Dispatcher KernelCache KernelRegistrar "
        "KernelRegistrationBuilder OpKernel OpSchemaRegistrar OperatorHandle define_op_schema "
        "drop kernel_registration key_of last ops peek pop push register_tensor_type"
    ),
    "c10cli.errors": (
        "AmbiguousOverloadError ArgumentError BenchError C10Error Diagnostic DispatchError "
        "KernelError ManifestError NoKernelError RegistrationError ReportError SchemaError "
        "Span StaleHandleError UnknownOperatorError"
    ),
    "c10cli.manifest.link": "Registry load_registry",
    "c10cli.schema": (
        "Argument Finding FunctionSchema OperatorName compare_schemas infer_schema parse_schema type_of"
    ),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
__all__ += ["__version__"]

# See Note [Memory checks] in c10cli.dispatch.watch.
provide("memory check", "c10cli.verify.memory:MEMORY")
