import os
import sys
import warnings

import numpy as np
import pytest

from c10cli import ArgumentError, KernelError, parse_schema, register_tensor_type
from c10cli.errors import Diagnostic
from c10cli.verify.kernel_call import call_checked


def call(schema, function, **arguments):
    return call_checked(parse_schema(schema), "k", function, arguments)


def refusal(schema, function, **arguments):
    with pytest.raises(KernelError) as caught:
        call(schema, function, **arguments)
    assert len(caught.value.diagnostics) == 1
    return caught.value


X = "t::f(Tensor x) -> Tensor"


def test_returns_come_as_a_tuple_however_many():
    x = np.ones(2)
    assert call("t::f(Tensor x) -> ()", lambda x: None, x=x) == ()
    assert call("t::f(Tensor x) -> int", lambda x: 3, x=x) == (3,)
    assert call("t::f(Tensor x) -> (int, int)", lambda x: [3, 4], x=x) == (3, 4)


def test_keyword_only_arguments_are_passed_by_keyword():
    def kernel(x, *, n):
        return n

    assert call("t::f(Tensor x, *, int n) -> int", kernel, x=np.ones(1), n=5) == (5,)


def test_what_a_kernel_raises_is_told_with_the_arguments_and_the_place():
    def kernel(x):
        raise ValueError("two\nlines")

    error = refusal(X, kernel, x=np.ones((2, 3), np.float32))
    finding = error.diagnostics[0]
    assert finding.code == "C10E501"
    assert finding.message == "kernel `k` of `t::f` raised ValueError: two lines"
    assert finding.place == "call of t::f with `x`: float32[2, 3]"
    assert finding.notes[0].startswith(f"raised at {__file__}:")
    assert isinstance(error.__cause__, ValueError)
    assert (error.operator, error.kernel) == ("t::f", "k")


def test_an_exception_without_a_message_is_told_as_such():
    def kernel(x):
        raise MemoryError

    error = refusal(X, kernel, x=np.ones(1))
    assert error.diagnostics[0].message.endswith("raised MemoryError: no message")
    assert isinstance(error.__cause__, MemoryError)


def test_a_kernel_cannot_end_the_process_with_sys_exit():
    error = refusal(X, lambda x: sys.exit("enough"), x=np.ones(1))
    assert error.diagnostics[0].message == "kernel `k` of `t::f` raised SystemExit: enough"


def test_an_interrupt_from_the_keyboard_is_let_through():
    def kernel(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(X, kernel, x=np.ones(1))


@pytest.mark.parametrize(
    ("returns", "value", "fact"),
    [
        ("()", 1, "returned one value (int 1) where the schema returns 0"),
        ("(Tensor, Tensor)", np.ones(2), "returned one value (float64[2]) where the schema returns 2"),
        ("(Tensor, Tensor)", None, "returned one value (None) where the schema returns 2"),
        ("(Tensor, Tensor)", (np.ones(1),) * 3, "returned 3 values where the schema returns 2"),
        ("(Tensor a, int b)", (np.ones(1), 2.5), "gave float 2.5 for return 1 `b`, declared int"),
        ("Tensor", (np.ones(1),), "gave tuple of 1 for return 0, declared Tensor"),
        ("Tensor", np.float32(1), "gave the NumPy scalar float32 for return 0, declared Tensor"),
        ("int", True, "gave True for return 0, declared int"),
        ("bool", 1, "gave int 1 for return 0, declared bool"),
        ("float", 1, "gave int 1 for return 0, declared float"),
        ("str", 1, "gave int 1 for return 0, declared str"),
        ("Scalar", "1", "gave str '1' for return 0, declared Scalar"),
        ("Tensor[]", np.ones(2), "gave float64[2] for return 0, declared Tensor[]"),
        ("int[]", [1, "2"], "gave list of 2 for return 0, declared int[]"),
    ],
)
def test_returns_that_the_schema_does_not_have_are_refused(returns, value, fact):
    error = refusal(f"t::f(Tensor x) -> {returns}", lambda x: value, x=np.ones(1))
    assert error.code == "C10E502"
    assert error.diagnostics[0].message == f"kernel `k` of `t::f` {fact}"


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("int", np.int32(1)),
        ("bool", np.bool_(True)),
        ("float", np.float32(1)),
        ("complex", 1j),
        ("Scalar", 1.5),
        ("Tensor?", None),
        ("Tensor?[]", [None]),
        ("(int, int)", (1, 2)),
        ("Device", "cpu"),
    ],
)
def test_returns_that_fit_are_taken(returns, value):
    assert call(f"t::f(Tensor x) -> {returns}", lambda x: value, x=np.ones(1))


def overwrite(x):
    x[0] = 5
    return np.ones(1)


def test_a_changed_argument_is_found():
    error = refusal(X, overwrite, x=np.ones(2))
    assert error.code == "C10E505"
    assert error.argument == "x"
    assert error.diagnostics[0].help == "write to a copy, or declare it in the schema: `Tensor(a!) x`"


def test_a_mutable_argument_may_be_changed():
    x = np.ones(2)
    call("t::f(Tensor(a!) x) -> Tensor", overwrite, x=x)
    assert x[0] == 5


def set_dtype(x):
    with warnings.catch_warnings():  # NumPy 2.5 deprecates it, and nothing else does this in place
        warnings.simplefilter("ignore", DeprecationWarning)
        x.dtype = np.int64


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.sort(),  # -0.0 and 0.0 are equal, and yet not the same
        lambda x: x.resize((2, 2), refcheck=False),
        set_dtype,
        lambda x: x.__setitem__(3, -np.nan),
    ],
)
def test_a_change_of_any_bit_shape_or_dtype_is_a_change(change):
    def kernel(x):
        change(x)
        return np.ones(1)

    x = np.array([0.0, -0.0, -1.0, np.nan])
    assert refusal(X, kernel, x=x).code == "C10E505"


@pytest.mark.parametrize(
    ("schema", "value", "change"),
    [
        ("Tensor[] xs", lambda: [np.ones(1), np.ones(1)], lambda xs: xs.pop()),
        ("Tensor[] xs", lambda: [np.ones(1), np.ones(1)], lambda xs: xs.append(np.ones(1))),
        ("Tensor[] xs", lambda: [np.ones(1)], lambda xs: xs[0].fill(2)),
        ("Tensor[] xs", lambda: [np.ones(1)], lambda xs: xs.__setitem__(0, None)),
        ("Tensor x, int[] xs", lambda: [3, 1], lambda xs: xs.sort()),
    ],
)
def test_a_changed_list_is_found(schema, value, change):
    def kernel(*args):
        change(args[-1])
        return np.ones(1)

    arguments = {"x": np.ones(1)} if schema.startswith("Tensor x") else {}
    error = refusal(f"t::f({schema}) -> Tensor", kernel, **arguments, xs=value())
    assert (error.code, error.argument) == ("C10E505", "xs")


def test_nan_and_equal_lists_are_no_change():
    x = np.array([np.nan])
    assert call(
        "t::f(Tensor x, int[] n, float e) -> Tensor", lambda x, n, e: np.ones(1), x=x, n=[10**6], e=np.nan
    )


@pytest.mark.parametrize(
    "kernel", [lambda x: x, lambda x: x[1:], lambda x: x.reshape(2, 3), lambda x: x.view(np.int64)]
)
def test_a_result_in_the_memory_of_an_argument_is_found(kernel):
    error = refusal("t::f(Tensor x) -> Tensor out", kernel, x=np.zeros(6))
    assert (error.code, error.argument) == ("C10E506", "x")
    assert error.diagnostics[0].message == (
        "return `out` of kernel `k` of `t::f` shares memory with argument `x`"
    )


def test_neighbours_in_one_buffer_share_no_memory():
    buffer = np.zeros(8)
    assert call(X, lambda x: buffer[1::2], x=buffer[0::2])


def test_an_alias_inside_lists_is_found():
    error = refusal(
        "t::f(Tensor[] xs) -> Tensor[]", lambda xs: [np.ones(1), xs[1]], xs=[np.ones(1), np.ones(1)]
    )
    assert error.code == "C10E506"


@pytest.mark.parametrize(
    "schema",
    [
        "t::f(Tensor(a) x) -> Tensor(a)",
        "t::f(Tensor(a!) x) -> Tensor(a!)",
        "t::f(Tensor(a -> *) x) -> Tensor(*)",
        "t::f(Tensor(*) x, Tensor(a)? y=None) -> Tensor(a)",
    ],
)
def test_an_announced_alias_is_none_to_report(schema):
    arguments = parse_schema(schema).bind((np.ones(1),), {})
    assert call(schema, lambda x, y=None: x, **arguments)


def test_an_alias_announced_for_the_elements_of_a_list_is_none_to_report():
    schema = "t::f(Tensor(a)[] xs) -> Tensor(a)"
    assert call(schema, lambda xs: xs[0], xs=[np.ones(1)])


def test_an_alias_with_another_set_is_found():
    error = refusal("t::f(Tensor(a) x, Tensor(b) y) -> Tensor(a)", lambda x, y: y, x=np.ones(1), y=np.ones(1))
    assert (error.code, error.argument) == ("C10E506", "y")


def test_tensors_on_different_devices_are_refused():
    class OnMeta:
        shape, dtype = (2,), "float32"

    register_tensor_type(OnMeta, "Meta")
    with pytest.raises(ArgumentError) as caught:
        call("t::f(Tensor x, Tensor[] y, int n) -> Tensor", min, x=np.ones(2), y=[OnMeta()], n=1)
    assert caught.value.code == "C10E406"
    assert "`x` on CPU, `y` on Meta" in str(caught.value)


@pytest.mark.needs("torch")
def test_an_alias_is_found_among_torch_tensors_and_across_libraries():
    import torch

    tensor = torch.zeros(6)
    assert refusal(X, lambda x: x[1:], x=tensor).code == "C10E506"
    assert refusal(X, lambda x: x.numpy(), x=tensor).code == "C10E506"
    assert refusal(X, torch.from_numpy, x=np.zeros(6)).code == "C10E506"
    assert call(X, lambda x: x + 1, x=tensor)


def test_a_copy_of_the_process_that_a_kernel_made_does_not_go_on(tmp_path):
    def kernel(x):
        os.fork()
        return x + 1

    call(X, kernel, x=np.ones(1))
    with (tmp_path / "log").open("a") as log:
        log.write("one")
    os.wait()
    assert (tmp_path / "log").read_text() == "one"


class Mute(Exception):
    def __str__(self):
        raise SystemExit


class Own(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Mute(), "Mute: a message that cannot be shown"),
        (Own("mine"), "Own: mine"),
        (GeneratorExit(), "GeneratorExit: no message"),
        (ValueError("half \udc80"), "ValueError: half \\udc80"),
        (ValueError("x" * 5000), f"ValueError: {'x' * 2000}..."),
    ],
)
def test_whatever_a_kernel_raises_is_told(error, text):
    def kernel(x):
        raise error

    message = refusal(X, kernel, x=np.ones(1)).diagnostics[0].message
    assert message[:2000] == f"kernel `k` of `t::f` raised {text}"[:2000]


def test_an_error_of_c10clis_own_that_a_kernel_raises_is_the_kernels():
    def kernel(x):
        raise KernelError(Diagnostic("C10E504", "another one differs"), operator="t::other")

    error = refusal(X, kernel, x=np.ones(1))
    assert (error.code, error.kernel) == ("C10E501", "k")
    assert error.diagnostics[0].message == (
        "kernel `k` of `t::f` raised KernelError: error[C10E504] another one differs"
    )


def test_what_c10cli_finds_at_a_kernels_own_call_keeps_its_code_and_names_the_kernel():
    def kernel(x):
        raise KernelError(Diagnostic("C10E502", "a kernel of `t::f` returned 2 values"), operator="t::f")

    error = refusal(X, kernel, x=np.ones(1))
    assert (error.code, error.kernel) == ("C10E502", "k")
    assert error.diagnostics[0].message == "kernel `k` of `t::f` returned 2 values"
