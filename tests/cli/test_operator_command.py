from __future__ import annotations

import click
import pytest
from click.shell_completion import ShellComplete

from c10cli.cli.main import group
from c10cli.cli.operator_command import OperatorGroup
from c10cli.cli.options import command
from c10cli.cli.session import Session
from c10cli.cli.shell_values import bind_values, place_values
from c10cli.errors import ArgumentError, DispatchError, UnknownOperatorError

REGISTRY = """\
version: 1
operators:
  - schema: "t::f(Tensor x, int max_size=1, *, str word='', Scalar? s=None) -> Tensor"
    kernels: {CPU: {kernel: k.py:f, name: plain}}
  - schema: "t::g(Tensor x, int key, *, int save=0, int seed=0, int registry=0) -> Tensor"
"""


@pytest.fixture
def read(folder):
    """`read(*words)`: the call that such words spell, the command's own options, and the session."""
    (folder / "registry.yaml").write_text(REGISTRY)
    found = []

    @command("any", cls=OperatorGroup)
    @click.option("--save")
    def any_command(session, call, **options):
        found.append((call, options, session))

    def call(*words):
        any_command.main(args=[str(word) for word in words], standalone_mode=False, obj=Session())
        return found.pop()

    return call


@pytest.mark.parametrize(
    ("words", "positional", "keywords"),
    [
        ("ones(2) -1", ["ones(2)", "-1"], {}),
        ("-", ["-"], {}),
        ("-hsum(x) -inf -v", ["-hsum(x)", "-inf", "-v"], {}),
        ("x --word hello", ["x"], {"word": "hello"}),
        ("x --word=a=b", ["x"], {"word": "a=b"}),
        ("x --word=", ["x"], {"word": ""}),
        ("x --word --key", ["x"], {"word": "--key"}),
        ("x --max-size -3", ["x"], {"max_size": "-3"}),
        ("x --max_size=3", ["x"], {"max_size": "3"}),
        ("--x a --max_size 3", [], {"x": "a", "max_size": "3"}),
        ("x --key CPU 3", ["x", "3"], {}),
        ("x -- --word -1", ["x", "--word", "-1"], {}),
        ("x --word a -- --word", ["x", "--word"], {"word": "a"}),
        ("", [], {}),
    ],
)
def test_words_are_the_operators_or_ours(read, words, positional, keywords):
    call, _, _ = read("f", *words.split())
    assert (list(call.positional), call.keywords) == (positional, keywords)


def test_a_name_that_both_have_is_the_operators_behind_its_name_and_ours_before(read):
    words = ["g", "x", "--key=1", "--save", "2", "--seed=3", "--registry", "4"]
    call, options, session = read("--save", "s", "--seed", "9", *words)
    assert call.keywords == {"key": "1", "save": "2", "seed": "3", "registry": "4"}
    assert (options, call.seed, session.registry) == ({"save": "s"}, 9, None)


def test_our_options_hold_before_and_behind_the_operator_and_the_last_wins(read):
    call, options, session = read(
        "--seed", "3", "--dtype", "int64", "f", "--variant", "plain", "--dtype=float64", "--color=never"
    )
    assert (call.seed, call.dtype, call.variant, options) == (3, "float64", "plain", {"save": None})
    assert session.color == "never"


def test_the_registry_may_follow_the_operator(read, folder):
    other = (folder / "registry.yaml").rename(folder / "other.yaml")
    call, _, session = read("f", "--registry", other, "[1]")
    assert list(call.positional) == ["[1]"]
    assert session.registry == str(other)


@pytest.mark.parametrize(
    ("words", "fact", "todo"),
    [
        ("x --wrod a", "`--wrod` is no argument of `t::f` and no option", "did you mean `--word`?"),
        ("x --wrod=a", "`--wrod` is no argument of `t::f` and no option", "did you mean `--word`?"),
        (
            "x --kee CPU",
            "`--kee` is no argument of `t::f` and no option",
            "did you mean `--key` or `--seed` or `--device`?",
        ),
        ("x --zzzzz", "`--zzzzz` is no argument of `t::f` and no option", "see `c10 call t::f --help`"),
        ("x --word a --word b", "argument `word` is given twice", "give it once"),
    ],
)
def test_words_that_fit_nowhere_are_refused(read, words, fact, todo):
    with pytest.raises(ArgumentError) as caught:
        read("f", *words.split())
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == ("C10E404", fact, todo)


@pytest.mark.parametrize("words", ["x --word", "x --key"])
def test_an_option_without_its_value_is_refused(read, words):
    with pytest.raises(click.UsageError, match="requires an argument"):
        read("f", *words.split())


@pytest.mark.parametrize(
    ("words", "key", "source"),
    [
        ("", None, "the default"),
        ("--key CUDA", "CUDA", "--key"),
        ("--device cuda:1", "CUDA", "--device"),
        ("--device GPU --key CUDA", "CUDA", "--device"),
        ("--device cpu", "CPU", "--device"),
    ],
)
def test_key_and_device_name_a_dispatch_key(read, words, key, source):
    call, _, _ = read("f", *words.split())
    assert (call.key, call.key_source) == (key, source)


@pytest.mark.parametrize("words", ["--key GPU", "--key=", "--device tpu", "--device cpu --key CUDA"])
def test_a_key_or_device_that_does_not_exist_is_refused(read, words):
    with pytest.raises(DispatchError) as raised:
        read("f", *words.split())
    assert raised.value.code == "C10E108"


def test_values_are_left_where_no_key_is_asked_for(read):
    call, _, _ = read("f", "[1]")
    bound = bind_values(call)
    assert place_values(call, bound) is bound


def test_a_key_without_tensors_here_is_refused(read):
    call, _, _ = read("f", "[1]", "--key", "XLA")
    with pytest.raises(DispatchError) as raised:
        place_values(call, bind_values(call))
    assert raised.value.code == "C10E607"


def test_the_variant_is_the_registered_one_or_the_one_asked_for(read):
    call, _, _ = read("f")
    assert call.variant_for("CPU").kernel.name == "plain"
    assert call.variant_for("CUDA") is None
    with pytest.raises(UnknownOperatorError, match="no variant `nope`"):
        read("f", "--variant", "nope")[0].variant_for("CPU")


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        (["call", "f"], "--ma", ["--max_size", "--max-size"]),
        (["call", "f", "[1]"], "--se", ["--seed"]),
        (["call", "--seed", "1", "t::g"], "--sa", ["--save"]),
        (["explain", "f"], "--var", ["--variant"]),
        (["call", "nope"], "--wor", []),
        (["call"], "--sa", ["--save"]),
    ],
)
def test_a_shell_completes_the_operators_options(read, capsys, words, begun, offered):
    completion = ShellComplete(group, {}, "c10", "_C10_COMPLETE")
    assert [item.value for item in completion.get_completions(words, begun)] == offered
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [(), ("--key", "CPU")])
def test_a_command_without_an_operator_misses_the_operator(read, words):
    with pytest.raises(click.UsageError, match="Missing argument 'OP'"):
        read(*words)
