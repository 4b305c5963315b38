"""The reference of c10::topk."""

import math

import numpy as np


def topk(self, k, dim=-1, largest=True, sorted=True):
    """Sort every slice in Python: by value, then by index; nan is the largest value."""
    axis = dim % self.ndim
    slices = np.moveaxis(self, axis, -1)
    lists = slices.reshape(int(np.prod(slices.shape[:-1])), slices.shape[-1])
    indices = np.array([_best(row.tolist(), k, largest, sorted) for row in lists], np.int64)
    indices = indices.reshape(*slices.shape[:-1], k)
    values = np.take_along_axis(slices, indices, axis=-1)
    return np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis)


def _best(row, k, largest, in_order):
    def key(index):
        value = row[index]
        nan = isinstance(value, float) and math.isnan(value)
        rank = (1, 0) if nan else (0, value)
        return ((-rank[0], -rank[1]) if largest else rank, index)

    chosen = sorted(range(len(row)), key=key)[:k]
    return chosen if in_order else sorted(chosen)
