"""Readers beside a writer that changes one operator over and over."""

import sys

import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import NoKernelError, StaleHandleError

SCHEMA = "t::f(Tensor x) -> int"


def constant(value):
    return lambda x: value


READERS = 4
NO_KERNEL, STALE = "no kernel", "stale"


class Storm:
    """A writer that changes one operator over and over, and knows what a call may have given when.

    ``possible[step]`` is what a call may give during that step, which begins
    before its change is made: what served before, and what serves after.
    """

    def __init__(self, dispatcher):
        self.dispatcher = dispatcher
        self.op = dispatcher.register_schema(SCHEMA)
        self.possible = [{NO_KERNEL}]
        self.registrars = []

    def step(self, change, after):
        self.possible.append({*after, self.serving()})
        change()

    def serving(self):
        return self.registrars[-1][0] if self.registrars else NO_KERNEL

    def add(self):
        value = len(self.possible)
        registrars, override = self.registrars, bool(self.registrars)

        def change():
            registrar = self.dispatcher.register_kernel(self.op, "CPU", constant(value), override=override)
            registrars.append((value, registrar))

        self.step(change, {value})

    def close(self, index):
        left = [value for i, (value, _) in enumerate(self.registrars) if i != index]
        self.step(self.registrars[index][1].close, {left[-1] if left else NO_KERNEL})
        del self.registrars[index]

    def renew(self):
        def change():
            self.dispatcher.deregister_schema(self.op)
            self.op = self.dispatcher.register_schema(SCHEMA)

        self.step(change, {STALE, NO_KERNEL})

    def round(self):
        self.add(), self.add(), self.add()
        self.close(1), self.close(1), self.close(0)
        self.renew()


@pytest.mark.parametrize(("checked", "calls"), [(False, 1_000_000), (True, 100_000)])
def test_calls_beside_a_storm_give_what_a_live_registration_gives(x, start, checked, calls, join):
    storm, finished, wrong = Storm(Dispatcher(checked=checked)), [], []
    possible, kinds = storm.possible, set()

    def read():
        for _ in range(calls // READERS):
            first = len(possible) - 1
            try:
                result = storm.op.call(x)
            except NoKernelError:
                result = NO_KERNEL
            except StaleHandleError:
                result = STALE
            if result not in possible[first] and not any(result in p for p in possible[first:]):
                wrong.append((first, len(possible), result))
            kinds.add(type(result))
        finished.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # many slices: the readers are interrupted thousands of times
    try:
        threads = [start(read) for _ in range(READERS)]
        while len(finished) < READERS and any(thread.is_alive() for thread in threads):
            storm.round()
    finally:
        sys.setswitchinterval(interval)
    join(*threads)
    assert (wrong, len(finished), kinds) == ([], READERS, {int, str})
    assert len(possible) > 100
