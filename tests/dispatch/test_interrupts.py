"""Ctrl-C wherever Python heeds it while a dispatcher changes: what is left is as before, or as after."""

import contextlib
import dis
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import c10cli
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.operator import OperatorHandle
from c10cli.dispatch.registration import OpSchemaRegistrar, define_op_schema
from c10cli.errors import C10Error
from c10cli.manifest.link import link_manifest
from c10cli.manifest.load import require_manifest

PACKAGE = Path(c10cli.__file__).parent
# What changes a dispatcher, and what stands between a body that raises and what undoes it.
WATCHED = (str(PACKAGE / "dispatch"), str(PACKAGE / "manifest" / "link.py"), contextlib.__file__)
# Behind these Python looks for signals.
HEEDING = ("CALL", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "RESUME")
KEYS = ("CPU", "CUDA", "XLA")
NEW = "t::new(Tensor x) -> int"


def chances(action, at=0):
    """How often Python would have heeded a Ctrl-C during *action*, which gets one at the time *at*."""
    count, behind = 0, {}

    def trace(frame, event, arg):
        nonlocal count
        if not frame.f_code.co_filename.startswith(WATCHED):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            at_frame = (id(frame), frame.f_code)  # to hold the frame itself would hold what it has open
            before = behind.get(at_frame, "")
            behind[at_frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            count += before.startswith(HEEDING)
            if count == at and before.startswith(HEEDING):
                raise KeyboardInterrupt
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except (KeyboardInterrupt, ZeroDivisionError):
        pass
    finally:
        sys.settrace(outer)
    return count


def constant(value):
    return lambda x: value


def result(function, *args):
    try:
        return function(*args)
    except C10Error as error:
        return error.code


class Subject:
    """A dispatcher in which `t::f` has an override, whose first kernel has a registrar, and was called."""

    def __init__(self, tensor):
        self.tensors = [tensor(key) for key in KEYS]
        self.dispatcher = Dispatcher()
        op = self.dispatcher.register_schema("t::f(Tensor x) -> int")
        self.dispatcher.register_schema("t::empty(Tensor x) -> int")
        self.first = self.dispatcher.register_kernel(op, "CPU", constant(1))
        self.dispatcher.register_kernel(op, "CPU", constant(2), override=True)
        self.dispatcher.register_kernel(op, "XLA", constant(3))
        self.getter = define_op_schema("t::got(Tensor x) -> int", self.dispatcher)
        self.handles = self.dispatcher.operators()
        self.state()

    def state(self):
        """What the operators give, those there were and those there are; whether anything is still open."""
        operators = self.dispatcher.operators()
        told = [
            (
                str(op.name),
                [(result(op.call, x), result(lambda x, op=op: op.lookup(x)(x), x)) for x in self.tensors],
                [line.partition("(")[0] for line in op.table().lines()] if op.is_live else "stale",
            )
            for op in {*self.handles, *operators}
        ]
        is_open = self.dispatcher.writing._is_owned() or OperatorHandle.publishing._is_owned()
        return [str(op.name) for op in operators], sorted(told), self.dispatcher._undo, is_open


def many(subject):
    """Every kind of change, in one transaction."""
    with subject.dispatcher.transaction() as dispatcher:
        dispatcher.register_kernel(subject.getter(), "CPU", constant(4))
        dispatcher.register_kernel("t::f", "CPU", constant(5), override=True)
        subject.first.close()
        dispatcher.deregister_kernel("t::f", "XLA")
        dispatcher.deregister_schema("t::empty")


def nested(subject):
    with subject.dispatcher.transaction() as dispatcher:
        dispatcher.register_kernel("t::f", "CUDA", constant(6))
        with dispatcher.transaction():
            dispatcher.register_kernel("t::f", "CPU", constant(7), override=True)
        dispatcher.deregister_schema("t::empty")


def failing(subject):
    with subject.dispatcher.transaction():
        many(subject)
        raise ZeroDivisionError


CHANGES = {
    "register_schema": lambda s: s.dispatcher.register_schema(NEW),
    "OpSchemaRegistrar": lambda s: OpSchemaRegistrar(NEW, s.dispatcher),
    "define_op_schema": lambda s: s.getter(),
    "register_kernel": lambda s: s.dispatcher.register_kernel("t::f", "CUDA", constant(8)),
    "override": lambda s: s.dispatcher.register_kernel("t::f", "CPU", constant(9), override=True),
    "deregister_kernel": lambda s: s.dispatcher.deregister_kernel("t::f", "CPU"),
    "close": lambda s: s.first.close(),
    "deregister_schema": lambda s: s.dispatcher.deregister_schema("t::empty"),
    "many": many,
    "nested": nested,
    "failing": failing,
}


def halves(make, change):
    """The chances at which a Ctrl-C leaves neither what was before *change* nor what is after it.

    In a thread of its own: what Python holds of exceptions that a tracer raised in handlers goes with it.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_halves, make, change).result()


def _halves(make, change):
    subject = make()
    before, count, after = subject.state(), chances(lambda: change(subject)), subject.state()
    assert count > 10
    left = {}
    for at in range(1, count + 1):
        subject = make()
        chances(lambda: change(subject), at)  # noqa: B023 - called at once
        left[at] = subject.state()
        assert subject.getter() is subject.dispatcher.find("t::got")
    return {at: state for at, state in left.items() if state not in (before, after)}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_is_interrupted_is_made_or_not(tensor, change):
    assert halves(lambda: Subject(tensor), change) == {}


def test_a_registry_that_is_interrupted_is_there_or_not(tensor, tmp_path):
    (tmp_path / "k.py").write_text("def new(x): return 4\ndef f(x): return 5\n")
    path = tmp_path / "registry.yaml"
    path.write_text(
        f'version: 1\noperators:\n  - schema: "{NEW}"\n    kernels: {{CPU: k.py:new, XLA: k.py:new}}\n'
        "  - {operator: 't::f', kernels: {CPU: k.py:f, CUDA: k.py:f}, override: {CPU: it is newer}}\n"
    )
    subject = Subject(tensor)
    manifest = require_manifest(path, outside={op.name: op.schema for op in subject.handles})

    def change(subject):
        link_manifest(manifest, subject.dispatcher)

    assert halves(lambda: Subject(tensor), change) == {}
