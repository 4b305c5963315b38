"""The reference of c10::layer_norm."""

import numpy as np


def layer_norm(input, axis=-1, epsilon=1e-05):
    """Output, mean and stdev over the axes from axis on; mean and stdev have the leading axes only."""
    values = input.astype(np.float64)
    axes = tuple(range(axis % values.ndim, values.ndim))
    with np.errstate(all="ignore"):
        count = np.float64(np.prod([values.shape[a] for a in axes]))
        mean = values.sum(axis=axes, keepdims=True) / count
        variance = ((values - mean) ** 2).sum(axis=axes, keepdims=True) / count
        stdev = np.sqrt(variance + epsilon)
        output = (values - mean) / stdev
    return output, np.asarray(mean.squeeze(axes)), np.asarray(stdev.squeeze(axes))
