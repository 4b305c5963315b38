"""What a tensor holds, and whether two overlap; asking leaves no trace in a tensor."""

from __future__ import annotations

import itertools
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Array, library_for
from c10cli.arrays.tensor_types import is_tensor, placed_key, tensors_of

_CONSTANT = (bool, int, float, complex, str, bytes)


def contents_of(value: Any) -> Any:
    """What is the same while *value* is: of a tensor dtype, shape and bytes.

    So nan is nan, and -0.0 is not 0.0.  What cannot be read, or is too large
    to be kept, is None, and so counts as untouched.
    """
    if isinstance(value, list | tuple):
        return [contents_of(element) for element in value]
    if not is_tensor(value):
        # What can change is told by identity, and so is what may compare in a way of its own.
        return (type(value), value) if isinstance(value, _CONSTANT) else id(value)
    if placed_key(value) in (None, DispatchKey.Meta):
        return None
    try:
        return library_for(value).contents(value)
    except Exception:  # noqa: BLE001 - out of memory, or whatever a tensor's own code raises
        return None


def share_memory(left: Any, right: Any) -> bool:
    """Whether a tensor of *left*, one or a list of them, overlaps one of *right*, as far as can be told.

    Tensors that are not in host memory share it only if they are one object.
    Two that nobody can write to never do: what is done to one is never seen in the other.
    """
    return any(_overlap(one, other) for one in tensors_of(left) for other in tensors_of(right))


def _owns_memory(tensor: Any) -> bool:
    """Whether *tensor* says, as NumPy's arrays do, that its memory is of nobody before it."""
    return getattr(getattr(tensor, "flags", None), "owndata", False) is True


def _overlap(left: Any, right: Any) -> bool:
    if left is not right and _owns_memory(left) and _owns_memory(right):
        return False  # a tenth of what it costs to look at the memory
    if all(library_for(tensor).is_immutable for tensor in (left, right)):
        return False
    if left is right:
        return True
    import numpy as np

    return any(
        np.may_share_memory(one, other) and np.shares_memory(one, other, max_work=-1)
        for one, other in itertools.product(_host_memory(left), _host_memory(right))
    )


def _host_memory(tensor: Any) -> list[Array]:
    key = placed_key(tensor)
    if key is None or key.dense is not DispatchKey.CPU:
        return []
    try:
        return library_for(tensor).memory(tensor)
    except Exception:  # noqa: BLE001 - whatever a tensor's own code raises
        return []
