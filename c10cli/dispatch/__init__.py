"""Which kernel runs: keys, stack, kernels, tables, the dispatcher and ways to register.

Its modules are imported when they are first used: reading a manifest needs
the names of the keys, not the dispatcher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from c10cli._lazy import lazy_names

if TYPE_CHECKING:  # `as` makes them public to type checkers
    from c10cli.dispatch.dispatcher import Dispatcher as Dispatcher, KernelRegistrar as KernelRegistrar
    from c10cli.dispatch.kernel import (
        BoxedKernel as BoxedKernel,
        KernelCache as KernelCache,
        OpKernel as OpKernel,
    )
    from c10cli.dispatch.keys import DispatchKey as DispatchKey
    from c10cli.dispatch.operator import OperatorHandle as OperatorHandle
    from c10cli.dispatch.registration import (
        KernelRegistrationBuilder as KernelRegistrationBuilder,
        OpSchemaRegistrar as OpSchemaRegistrar,
        define_op_schema as define_op_schema,
        kernel_registration as kernel_registration,
        ops as ops,
    )
    from c10cli.dispatch.stack import drop as drop, last as last, peek as peek, pop as pop, push as push
    from c10cli.dispatch.table import DispatchTable as DispatchTable
    from c10cli.dispatch.tensor_types import key_of as key_of, register_tensor_type as register_tensor_type

_HOMES = {
    "c10cli.dispatch.dispatcher": "Dispatcher KernelRegistrar",
    "c10cli.dispatch.kernel": "BoxedKernel KernelCache OpKernel",
    "c10cli.dispatch.keys": "DispatchKey",
    "c10cli.dispatch.operator": "OperatorHandle",
    "c10cli.dispatch.registration": (
        "KernelRegistrationBuilder OpSchemaRegistrar define_op_schema kernel_registration ops"
    ),
    "c10cli.dispatch.stack": "drop last peek pop push",
    "c10cli.dispatch.table": "DispatchTable",
    "c10cli.dispatch.tensor_types": "key_of register_tensor_type",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
