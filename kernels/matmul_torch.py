"""`c10::matmul` for torch's tensors on the CPU, by torch's own operator."""

import torch


def matmul_torch(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Products of the matrices of *self* and *other*, whose leading axes broadcast.

    Shapes: self ``[*n, rows, inner]``, other ``[*n, inner, columns]``, result ``[*n, rows, columns]``.
    Dtypes: numbers, accumulated as torch does.
    Cost: ``2 * rows * inner * columns`` operations for each matrix.
    Source: `torch.matmul`.

    >>> matmul_torch(torch.eye(2), torch.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """
    return torch.matmul(self, other)
