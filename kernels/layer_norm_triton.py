"""c10::layer_norm on CUDA devices, in Triton."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from ._common import axis_index
from ._triton import LAUNCH, adopted, count, library_of, work_dtype

_WIDEST_BLOCK = 4096  # elements of a row held at once; wider rows are walked


@triton.jit
def layer_norm_kernel(
    input_ptr,
    output_ptr,
    mean_ptr,
    stdev_ptr,
    columns,
    epsilon: tl.float64,
    WORK: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row per program: its mean, its variance about that mean, then the result."""
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, BLOCK)
    input_row = input_ptr + row * columns
    output_row = output_ptr + row * columns

    sums = tl.zeros([BLOCK], WORK)
    for start in range(0, columns, BLOCK):
        sums += tl.load(input_row + start + places, mask=start + places < columns, other=0.0).to(WORK)
    mean = tl.sum(sums, 0) / columns

    squares = tl.zeros([BLOCK], WORK)
    for start in range(0, columns, BLOCK):
        inside = start + places < columns
        centred = tl.load(input_row + start + places, mask=inside, other=0.0).to(WORK) - mean
        squares += tl.where(inside, centred * centred, 0.0)
    stdev = tl.sqrt(tl.sum(squares, 0) / columns + tl.full((), epsilon, WORK))

    tl.store(mean_ptr + row, mean.to(mean_ptr.dtype.element_ty))
    tl.store(stdev_ptr + row, stdev.to(stdev_ptr.dtype.element_ty))
    for start in range(0, columns, BLOCK):
        inside = start + places < columns
        value = (tl.load(input_row + start + places, mask=inside, other=0.0).to(WORK) - mean) / stdev
        tl.store(output_row + start + places, value.to(output_ptr.dtype.element_ty), mask=inside)


def layer_norm_triton(input: Any, axis: int = -1, epsilon: float = 1e-05) -> tuple[Any, Any, Any]:
    """*input* with the axes from *axis* on shifted to mean 0 and scaled to variance 1.

    Args:
        input: values, on a CUDA device; not modified.
        axis: first normalised axis; a negative one counts from the end.
        epsilon: added to the variance before the root; at least 0.

    Returns:
        output, the mean of every slice, and stdev = sqrt(variance + epsilon), allocated by
        the library of *input*.

    Shapes:
        input ``[R, N]`` to output ``[R, N]``, mean and stdev ``[R]``, where R are the axes
        before *axis* (none: 0-d) and N the rest; an empty N gives ``nan`` statistics.
    Dtypes:
        float16, bfloat16, float32, float64; all three results keep it, 16-bit types are
        computed in float32.
    Cost:
        Reads the array once from memory and twice more from cache, writes the result once;
        a copy first if it is not contiguous.
    Raises:
        TypeError: *input* is no CUDA array or not floating-point.
        ValueError: *epsilon* is negative or nan.
        numpy.exceptions.AxisError: *axis* is out of range.
    Source:
        Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450, without gain and
        bias; variance over N (not N - 1), in two passes.
    """
    (input,), give_back = adopted("input", input)
    library = library_of("input", input)
    dtype = str(input.dtype).rpartition(".")[2]
    work = work_dtype("input", input, dtype)
    first = axis_index("axis", axis, "input", input)
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    shape = tuple(input.shape)
    rows, columns = count(shape[:first]), count(shape[first:])
    block = min(triton.next_power_of_2(max(1, columns)), _WIDEST_BLOCK)
    with library.guard(input):
        results = [library.empty(s, dtype, input) for s in (shape, shape[:first], shape[:first])]
        if rows:
            layer_norm_kernel[(rows,)](
                *(library.argument(x) for x in (library.expand(input, shape), *results)),
                columns,
                float(epsilon),
                WORK=work,
                BLOCK=block,
                num_warps=4 if block <= 2048 else 8,
                **LAUNCH,
            )
    output, mean, stdev = (give_back(result) for result in results)
    return output, mean, stdev
