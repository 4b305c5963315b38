from __future__ import annotations

import click
import numpy as np
import pytest

from c10cli.cli.call_words import (
    WORDS_AS_THEY_ARE,
    CallOptions,
    CallWords,
    bind_words,
    call_options,
    key_of_arguments,
    place_bound,
    read_options,
    read_words,
)
from c10cli.cli.session import Session, command
from c10cli.cli.shell_arguments import Tail
from c10cli.errors import ArgumentError, DispatchError


@pytest.fixture
def read(demo):
    """`read(*words)`: what a command that takes such words reads, and its session."""
    found = []

    @command("any", context_settings=dict(WORDS_AS_THEY_ARE))
    @call_options
    @click.pass_context
    def any_command(ctx, /, session, op, arguments, **options):
        if op == "none":
            read_options(ctx, session, op, arguments)
        else:
            found.append(read_words(ctx, session, op, arguments, options))

    def call(*words):
        session = Session()
        any_command.main(args=[str(word) for word in words], standalone_mode=False, obj=session)
        return (found.pop() if found else None), session

    return call


def test_words_are_the_operators_arguments_or_our_options(read):
    words, _ = read("--seed", "3", "add", "[1]", "--y", "[2]", "--alpha=5", "--variant", "add")
    assert str(words.linked.decl.name) == "demo::add"
    assert words.tail.positional == ["[1]"]
    assert words.tail.keywords == {"y": "[2]", "alpha": "5"}
    assert CallOptions(**words.options) == CallOptions(variant="add", seed=3)


def test_shared_options_may_follow_the_operator(read):
    _, session = read("double", "[1]", "--format", "json", "--color=never")
    assert (session.format, session.color) == ("json", "never")


def test_the_registry_may_follow_the_operator(read, demo, monkeypatch):
    other = demo.rename(demo.with_name("other.yaml"))
    words, session = read("double", "--registry", other, "[1]")
    assert words.tail.positional == ["[1]"]
    assert session.registry == str(other)


def test_where_nothing_may_follow_options_still_may(read):
    _, session = read("none", "--format", "json")
    assert session.format == "json"
    with pytest.raises(click.UsageError, match="`none` takes no arguments"):
        read("none", "[1]")


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, None),
        ({"key": "CUDA"}, "CUDA"),
        ({"device": "cuda:1"}, "CUDA"),
        ({"device": "GPU", "key": "CUDA"}, "CUDA"),
        ({"device": "cpu"}, "CPU"),
    ],
)
def test_key_and_device_name_a_dispatch_key(options, key):
    assert CallOptions(**options).dispatch_key == key


@pytest.mark.parametrize(
    "options", [{"key": "GPU"}, {"key": ""}, {"device": "tpu"}, {"device": "cpu", "key": "CUDA"}]
)
def test_a_key_or_device_that_does_not_exist_is_refused(options):
    with pytest.raises(DispatchError) as raised:
        _ = CallOptions(**options).dispatch_key
    assert raised.value.code == "C10E108"


def test_arguments_are_bound_and_left_where_no_key_is_asked_for(read):
    words, _ = read("add", "[1]", "[2]")
    bound = bind_words(words, CallOptions(dtype="float64"))
    assert list(bound) == ["x", "y", "alpha"]
    assert bound["x"].dtype == np.float64
    assert place_bound(words.linked, CallOptions(), bound) is bound
    assert key_of_arguments(words.linked, bound) == "CPU"


def test_a_key_without_tensors_here_is_refused(read):
    words, _ = read("double", "[1]")
    with pytest.raises(DispatchError) as raised:
        place_bound(words.linked, CallOptions(key="XLA"), {"x": np.ones(1)})
    assert raised.value.code == "C10E607"


def test_what_is_no_tensor_gives_no_key(read):
    words, _ = read("double", "[1]")
    with pytest.raises(ArgumentError) as raised:
        key_of_arguments(words.linked, {"x": "text"})
    assert raised.value.code == "C10E408"


def test_too_few_arguments_are_refused_when_bound(read):
    words, _ = read("add", "[1]")
    with pytest.raises(ArgumentError, match="missing argument `y`"):
        bind_words(CallWords(words.linked, Tail(["[1]"]), {}), CallOptions())
