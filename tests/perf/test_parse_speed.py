"""How long the parser takes beside torch's C++ parser and beside torchgen, in one process and one run.

All are sampled in turn, in random order; only ratios of medians are judged.
Our parser remembers what texts of types and defaults mean (see Note [The short
way]), so it is timed three times: with what it remembers from the round
before, with its memories cleared before each round, and before each text.  The
last is shown and not judged: what is asked for is the time of whole corpora.
"""

import random
import re
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from c10cli.bench.sampling import steady_state
from c10cli.schema import parser
from c10cli.schema.parser import parse_schema

TURNS = 15
OURS = ("c10cli", "c10cli, forgetting each round", "c10cli, forgetting each text")


def forget():
    parser._remembered_type.cache_clear()
    parser._remembered_default.cache_clear()


def parse_all(parse, texts):
    for text in texts:
        parse(text)


def time_ns(parse, texts, before=lambda: None):
    before()
    start = time.perf_counter_ns()
    parse_all(parse, texts)
    return time.perf_counter_ns() - start


def our_parse(texts):
    classes = set(re.findall(r"__torch__\.torch\.classes\.(\w+\.\w+)", "\n".join(texts)))
    return lambda text: parse_schema(text, "torch", known_classes=classes)


def our_ways(texts):
    """The ways of timing our own parser, by name."""
    parse = our_parse(texts)

    def parse_anew(text):
        forget()
        parse(text)

    return dict(zip(OURS, [(parse, texts), (parse, texts, forget), (parse_anew, texts)], strict=True))


def native_functions(needs):
    folder = Path(needs("torchgen").__file__).parent
    text = (folder / "packaged/ATen/native/native_functions.yaml").read_text(encoding="utf-8")
    yaml = needs("yaml")
    return [entry["func"] for entry in yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))]


def figures(competitors):
    """Milliseconds a round, by name."""
    order, times = random.Random(0), {name: [] for name in competitors}
    with steady_state():
        for turn in range(-1, TURNS):  # the first turn warms up
            for name in order.sample(list(competitors), len(competitors)):
                taken = time_ns(*competitors[name])
                if turn >= 0:
                    times[name].append(taken)
    return {name: median(taken) / 1e6 for name, taken in times.items()}


def show(capsys, medians, other):
    lines = [f"{name:32}{ms:9.1f} ms{ms / medians[other]:9.2f}x of {other}" for name, ms in medians.items()]
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")


@pytest.mark.needs("torch")
def test_all_schemas_of_torch_take_less_than_ten_times_what_its_own_parser_takes(
    benchmark, torch, torch_schemas, capsys
):
    ways = our_ways(torch_schemas)
    medians = figures({"torch": (torch._C.parse_schema, torch_schemas), **ways})
    show(capsys, medians, "torch")
    benchmark.extra_info |= medians
    benchmark.pedantic(parse_all, args=ways[OURS[0]], rounds=3, warmup_rounds=1)
    assert all(medians[name] < 10 * medians["torch"] for name in OURS[:2])


@pytest.mark.needs("torch")
def test_all_schemas_of_torch_take_less_than_torchgen_takes_for_its_own(
    benchmark, torch_schemas, needs, capsys
):
    functions = native_functions(needs)
    torchgen = needs("torchgen.model").FunctionSchema.parse
    assert (len(torch_schemas), len(functions)) == (4374, 2584)
    medians = figures({"torchgen": (torchgen, functions), **our_ways(torch_schemas)})
    show(capsys, medians, "torchgen")
    benchmark.extra_info |= medians
    benchmark.pedantic(parse_all, args=(torchgen, functions), rounds=3)
    assert all(medians[name] < medians["torchgen"] for name in OURS[:2])
