"""The operators of the torch that is installed."""

from __future__ import annotations

from collections.abc import Sequence

from c10cli.arrays.devices import is_installed
from c10cli.errors import Diagnostic, ManifestError
from c10cli.interop.imported import Collector, Imported

__all__ = ["DEFAULT_KEYS", "TORCH_KEYS", "import_torch"]

# The dispatch keys that torch has under the same name.
TORCH_KEYS = ("CPU", "CUDA", "HIP", "SparseCPU", "SparseCUDA", "XLA", "MPS", "XPU", "Meta")
# Those that c10cli makes tensors of, and the one that shapes are computed with.
DEFAULT_KEYS = ("CPU", "CUDA", "SparseCPU", "Meta")


def import_torch(select: Sequence[str] = (), keys: Sequence[str] = DEFAULT_KEYS) -> Imported:
    """Every operator in torch's dispatcher that a tensor argument chooses the kernel of.

    A key is an operator's where torch's dispatch table has something to call
    for it: a kernel of its own, or one for many keys.

    Raises:
        ManifestError: C10E101, torch is not installed.
    """
    if not is_installed("torch"):
        raise ManifestError(
            Diagnostic(
                "C10E101", "there is no torch to import from", help="pip install torch, or name a file"
            )
        )
    import torch

    dispatcher = torch._C
    dispatched = set(dispatcher._dispatch_get_all_op_names())
    collector = Collector(select)
    for schema in dispatcher._jit_get_all_schemas():
        name = f"{schema.name}.{schema.overload_name}".removesuffix(".")
        if not collector.wants(name):
            continue
        if name not in dispatched:
            collector.leave_out(name, "not in torch's dispatcher, but in TorchScript only")
            continue
        parsed = collector.parse(name, str(schema))
        if parsed is not None:
            has_kernel = dispatcher._dispatch_has_computed_kernel_for_dispatch_key
            collector.add(parsed, [key for key in keys if has_kernel(name, key)])
    return collector.imported(f"torch {torch.__version__}")
