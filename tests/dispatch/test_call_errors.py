import pytest

from c10cli.dispatch import call_errors
from c10cli.errors import ArgumentError, DispatchError, KernelError
from c10cli.schema.parser import parse_schema

SCHEMA = parse_schema("t::f(Tensor[] l, Tensor? o) -> (int, int)")


@pytest.mark.parametrize(
    ("error", "family", "code"),
    [
        (call_errors.no_tensor(SCHEMA, {"l": [], "o": None}), ArgumentError, "C10E408"),
        (call_errors.not_a_list(SCHEMA, SCHEMA.arguments[0], 3), ArgumentError, "C10E405"),
        (call_errors.not_a_tensor(SCHEMA, SCHEMA.arguments, 3), ArgumentError, "C10E408"),
        (call_errors.missing_argument(SCHEMA, SCHEMA.arguments[0]), ArgumentError, "C10E404"),
        (call_errors.stack_too_short(SCHEMA, 1), DispatchError, "C10E409"),
        (call_errors.broken_discipline(SCHEMA, "k", None), KernelError, "C10E507"),
        (call_errors.wrong_returns(SCHEMA, 3), KernelError, "C10E502"),
    ],
)
def test_every_error_has_its_family_code_operator_schema_and_advice(error, family, code):
    assert (type(error), error.code, error.operator) == (family, code, "t::f")
    (diagnostic,) = error.diagnostics
    assert f"the schema is {SCHEMA}" in diagnostic.notes
    assert diagnostic.help


NAMED = parse_schema("t::g(Tensor x) -> Tensor y")
NOTHING = parse_schema("t::n(Tensor x) -> ()")
LISTS, OPTIONAL = SCHEMA.arguments
# Each with its whole text but for the note of the schema, and its facts but for the operator.
ERRORS = {
    "no tensor": (
        call_errors.no_tensor(SCHEMA, {"l": [None], "o": None}),
        "error[C10E408] no tensor to dispatch `t::f` on: `l` is a list of None, `o` is None\n"
        "--> call of t::f\n"
        "help: pass at least one tensor in `l` or `o`",
        {},
    ),
    "not a list": (
        call_errors.not_a_list(SCHEMA, LISTS, 3),
        "error[C10E405] argument `l` of `t::f` must be Tensor[], not int 3\n"
        "--> call of t::f, argument `l`\n"
        "help: pass a list of tensors",
        {"argument": "l"},
    ),
    "not a tensor": (
        call_errors.not_a_tensor(NAMED, NAMED.arguments, 3),
        "error[C10E408] argument `x` of `t::g` is of type `int`, which is no known tensor\n"
        "--> call of t::g, `x`: int 3\n"
        "help: pass an array, or teach the type with register_tensor_type(int, KEY)",
        {"argument": "x", "tensor_type": int},
    ),
    "a list for a tensor": (
        call_errors.not_a_tensor(NAMED, NAMED.arguments, [3]),
        "error[C10E408] argument `x` of `t::g` is of type `list`, which is no known tensor\n"
        "--> call of t::g, `x`: list of 1\n"
        "help: pass an array, or teach the type with register_tensor_type(list, KEY)",
        {"argument": "x", "tensor_type": list},
    ),
    "not a tensor, where several could decide": (
        call_errors.not_a_tensor(SCHEMA, SCHEMA.arguments, 3),
        "error[C10E408] what decides in `l` or `o` of `t::f` is of type `int`, which is no known tensor\n"
        "--> call of t::f, `l` or `o`: int 3\n"
        "help: pass an array, or teach the type with register_tensor_type(int, KEY)",
        {"argument": "l", "tensor_type": int},
    ),
    "a nested list": (
        call_errors.not_a_tensor(SCHEMA, SCHEMA.arguments, [3]),
        "error[C10E408] what decides in `l` or `o` of `t::f` is of type `list`, which is no known tensor\n"
        "--> call of t::f, `l` or `o`: list of 1\n"
        "help: pass a flat list of tensors",
        {"argument": "l", "tensor_type": list},
    ),
    "missing argument": (
        call_errors.missing_argument(SCHEMA, LISTS),
        "error[C10E404] `t::f` is missing argument `l`\n--> call of t::f\nhelp: pass `l`",
        {"argument": "l"},
    ),
    "not a stack": (
        call_errors.not_a_stack(SCHEMA, (1, 2)),
        "error[C10E405] the stack of `t::f` must be a list, not tuple of 2\n"
        "--> boxed call or lookup of t::f\n"
        "help: pass the arguments as a list, in the schema's order",
        {},
    ),
    "stack too short": (
        call_errors.stack_too_short(SCHEMA, 1),
        "error[C10E409] `t::f` needs 2 values on the stack, and it has 1\n"
        "help: push every argument, in the schema's order; a boxed call fills no defaults",
        {"needed": 2, "depth": 1},
    ),
    "too much taken off": (
        call_errors.broken_discipline(SCHEMA, "k", None),
        "error[C10E507] boxed kernel `k` of `t::f` took more values off the stack than its 2 arguments\n"
        "note: the caller's stack is as it was before the call\n"
        "help: make the kernel take exactly its arguments off and put exactly its returns on",
        {"kernel": "k"},
    ),
    "too much left": (
        call_errors.broken_discipline(SCHEMA, "k", 3),
        "error[C10E507] boxed kernel `k` of `t::f` left 3 values on the stack where the schema returns 2\n"
        "note: the caller's stack is as it was before the call\n"
        "help: make the kernel take exactly its arguments off and put exactly its returns on",
        {"kernel": "k"},
    ),
    "wrong returns": (
        call_errors.wrong_returns(SCHEMA, 3),
        "error[C10E502] a kernel of `t::f` returned one value (int 3) where the schema returns 2\n"
        "help: return a tuple of 2",
        {"wanted": 2},
    ),
    "wrong returns, where none are wanted": (
        call_errors.wrong_returns(NOTHING, (3,)),
        "error[C10E502] a kernel of `t::n` returned 1 value where the schema returns 0\nhelp: return None",
        {"wanted": 0},
    ),
    "different keys": (
        call_errors.different_keys(SCHEMA, {"l": ["CPU", "Meta"], "o": ["CUDA"]}),
        "error[C10E406] the tensors of `t::f` are on different dispatch keys: `l` on CPU/Meta, `o` on CUDA\n"
        "--> call of t::f\n"
        "help: move them to one device",
        {"keys": {"l": ["CPU", "Meta"], "o": ["CUDA"]}},
    ),
    "wrong return": (
        call_errors.wrong_return(SCHEMA, "k", "returned 3 values where the schema returns 2"),
        "error[C10E502] kernel `k` of `t::f` returned 3 values where the schema returns 2\n"
        "help: return what the schema says, as a tuple where there are several",
        {"kernel": "k"},
    ),
    "wrong return, with advice of its own": (
        call_errors.wrong_return(SCHEMA, "k", "gave up", "go on"),
        "error[C10E502] kernel `k` of `t::f` gave up\nhelp: go on",
        {"kernel": "k"},
    ),
    "argument changed": (
        call_errors.argument_changed(SCHEMA, "k", OPTIONAL),
        "error[C10E505] kernel `k` of `t::f` changed argument `o`\n"
        "help: write to a copy, or declare it in the schema: `Tensor(a!)? o`",
        {"kernel": "k", "argument": "o"},
    ),
    "result aliases": (
        call_errors.result_aliases(SCHEMA, "k", SCHEMA.returns[0], LISTS),
        "error[C10E506] the result of kernel `k` of `t::f` shares memory with argument `l`\n"
        "help: return a copy, or declare the alias in the schema: `Tensor(a)` on both",
        {"kernel": "k", "argument": "l"},
    ),
    "result with a name aliases": (
        call_errors.result_aliases(NAMED, "k", NAMED.returns[0], NAMED.arguments[0]),
        "error[C10E506] return `y` of kernel `k` of `t::g` shares memory with argument `x`\n"
        "help: return a copy, or declare the alias in the schema: `Tensor(a)` on both",
        {"kernel": "k", "argument": "x"},
    ),
}


@pytest.mark.parametrize(("error", "text", "facts"), ERRORS.values(), ids=ERRORS)
def test_an_error_says_what_and_where_and_one_thing_to_do_and_carries_its_facts(error, text, facts, shown):
    lines = shown(error).splitlines()
    (schema,) = [line for line in lines if line.startswith("note: the schema is ")]
    assert [line for line in lines if line != schema] == text.splitlines()
    operator = error.facts["operator"]
    assert schema.startswith(f"note: the schema is {operator}(")
    assert error.facts == {"operator": operator, **facts}
