import pytest

from c10cli.diff.change import SchemaChange, is_backward_compatible, is_forward_compatible

FINE = SchemaChange("argument-added", "argument 1", "added", backward=True, forward=True, why="has a default")
BREAK = SchemaChange("argument-removed", "argument 1", "removed", backward=False, forward=True, why="gone")
NEW = SchemaChange("argument-type", "argument 0 `x`", "wider", backward=True, forward=False, why="wider")


@pytest.mark.parametrize(
    ("findings", "backward", "forward"),
    [([], True, True), ([FINE], True, True), ([FINE, BREAK], False, True), ([NEW, FINE], True, False)],
)
def test_one_finding_decides_for_all(findings, backward, forward):
    assert is_backward_compatible(findings) is backward
    assert is_forward_compatible(findings) is forward
