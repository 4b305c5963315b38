"""The shipped operators with kernels for two array libraries: each is called with its own arrays."""

import numpy as np
import pytest

from c10cli import load_registry
from c10cli.manifest.discover import shipped_registry

CALLS = {"softmax": lambda xp: (xp.ones((2, 3)), -1), "matmul": lambda xp: (xp.ones((2, 3)), xp.ones((3, 2)))}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("order", [1, -1])
def test_arrays_of_numpy_and_torch_get_kernels_of_their_own(torch, name, order):
    op = load_registry(shipped_registry()).find(name).handle
    for xp, kind in [(np, np.ndarray), (torch, torch.Tensor)][::order]:
        result = op.call(*CALLS[name](xp))
        assert type(result) is kind
        assert op.lookup(*CALLS[name](xp)).function.__name__.endswith("_torch") == (xp is torch)
