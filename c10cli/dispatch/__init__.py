"""Which kernel runs: keys, stack, kernels, tables, the dispatcher and ways to register."""

from c10cli.dispatch.dispatcher import Dispatcher, KernelRegistrar
from c10cli.dispatch.kernel import BoxedKernel, KernelCache, OpKernel
from c10cli.dispatch.keys import DispatchKey
from c10cli.dispatch.operator import OperatorHandle
from c10cli.dispatch.registration import (
    KernelRegistrationBuilder,
    OpSchemaRegistrar,
    define_op_schema,
    kernel_registration,
    ops,
)
from c10cli.dispatch.stack import drop, last, peek, pop, push
from c10cli.dispatch.table import DispatchTable
from c10cli.dispatch.tensor_types import key_of, register_tensor_type

__all__ = [
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
]
