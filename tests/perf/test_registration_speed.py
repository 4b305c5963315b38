"""What it costs to register many operators: time and memory grow with their number, and no faster."""

import sys
import time
import tracemalloc
from statistics import median

from c10cli.dispatch.dispatcher import Dispatcher

FEW, MANY, TURNS = 300, 3000, 5


def kernel(x, y, *, k):
    return x


def other_kernel(x, y, *, k):
    return y


def register(count):
    dispatcher = Dispatcher()
    for i in range(count):
        op = dispatcher.register_schema(f"perf::f{i}(Tensor x, Tensor y, *, int k=1) -> Tensor")
        dispatcher.register_kernel(op, "CPU", kernel)
        dispatcher.register_kernel(op, "CUDA", other_kernel)
    return dispatcher


def time_s(count):
    start = time.perf_counter()
    register(count)
    return time.perf_counter() - start


def bytes_per_operator(count):
    tracemalloc.start()
    try:
        dispatcher = register(count)
        return tracemalloc.get_traced_memory()[0] / len(dispatcher.operators())
    finally:
        tracemalloc.stop()


def test_time_and_memory_per_operator_do_not_grow_with_their_number(benchmark, capsys):
    register(FEW)
    times = {count: [] for count in (FEW, MANY)}
    for _ in range(TURNS):
        for count, taken in times.items():
            taken.append(time_s(count) / count)
    few, many = median(times[FEW]), median(times[MANY])
    memory = {count: bytes_per_operator(count) for count in times}
    figures = {
        "seconds_for_3000": many * MANY,
        "us_per_operator": many * 1e6,
        "time_ratio": many / few,
        "bytes_per_operator": memory[MANY],
        "memory_ratio": memory[MANY] / memory[FEW],
    }
    with capsys.disabled():
        sys.stdout.write("\n" + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()) + "\n")
    benchmark.extra_info |= figures
    benchmark.pedantic(register, args=(FEW,), rounds=3)
    assert figures["time_ratio"] < 2
    assert 0.8 < figures["memory_ratio"] < 1.25
    assert figures["seconds_for_3000"] < 1
