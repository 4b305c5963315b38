"""Each fault of a domain or of a variant's condition is one finding, where it stands in the file."""

import pytest

from c10cli.manifest.load import load_manifest

HEAD = """\
version: 1
operators:
  - schema: "d::f(Tensor x, Tensor[] xs, Tensor? bias, int dim, str mode) -> (Tensor out, Tensor lse)"
"""
# The place of the finding stands between « and ».
FAULTS = {
    "plain": ("    domain:\n      x: «floatng»[n]\n", "`floatng` is no dtype"),
    "in double quotes": ('    domain:\n      x: "any[n], _ < «m»"\n', "nothing is called `m` here"),
    "in single quotes": ("    domain: {mode: '_ in (''a'', «rows»)'}\n", "nothing is called `rows`"),
    "behind an escape": ('    domain: {mode: "_ != \\"\\u00e4\\" and _ == «3»"}\n', "`3` is a number"),
    "behind a wide character": ("    domain: {mode: \"_ != 'äö😀' and «dim»\"}\n", "`dim` is a number"),
    "in brackets": ('    domain: {dim: "0 <= _ < «columns»", x: any}\n', "nothing is called `columns`"),
    "folded": ("    domain:\n      x: «>-»\n        any[n],\n        _ < m\n", "nothing is called `m`"),
    "kept on its lines": ("    domain:\n      x: «|»\n        any[n], _ < m\n", "nothing is called `m`"),
    "plain on two lines": ("    domain:\n      x: «any[n],»\n        _ < m\n", "nothing is called `m`"),
    "an item of a list": (
        '    domain:\n      x: "any[n]"\n      where:\n        - n > 0\n        - n > «k»\n',
        "`k`",
    ),
    "an item in brackets": ('    domain: {x: "any[n]", returns: ["any[n]", "float32[«k»]"]}\n', "`k`"),
    "too few items": ('    domain: {returns: «["any"]»}\n', "`returns` has 1 texts"),
    "no text in a list": ("    domain: {where: [dim > 0, «3»]}\n", "must be a text"),
    "a list as an argument": ('    domain: {x: «["any"]»}\n', "`x` must be a text, not list"),
    "a number": ("    domain:\n      dim: «3»\n", "`dim` must be a text, not int 3"),
    "nothing": ("    domain:\n      dim: «~»\n", "`dim` must be a text, not None"),
    "empty": ('    domain: {dim: "«"»}\n', "expression is empty"),
    "blanks": ('    domain: {x: "  «"»}\n', "a dtype is missing"),
    "of an unknown key": ("    domain:\n      x: any\n      «y»: any\n", "`y` is no argument"),
    "a key that is no text": ("    domain:\n      x: any\n      «3»: any\n", "key `3`"),
    "a domain that is a text": ("    domain: «float32[n]»\n", "`domain` of `d::f`"),
    "a domain that is a list": ("    domain: «[x]»\n", "`domain` of `d::f`"),
    "not closed": ('    domain: {x: "any«[»n"}\n', "`[` is not closed"),
    "never true": ('    domain: {x: "any[n]", where: "n < 3 and «n == 4»"}\n', "no value of `n`"),
    "no argument uses it": ("    domain: {«T»: floating}\n", "no argument has the dtype `T`"),
    "where another one is": ('    domain: {x: "any[*n]", bias: "any[«n»]"}\n', "one size here"),
    "behind an anchor": ('    domain: {x: &x "any[1, 2 * «k»]"}\n', "called `k`"),
    "plain behind an anchor": ("    domain:\n      x: &x any[2 * «k»]\n", "called `k`"),
    "an alias": ("    summary: &d 0 <= _ < k\n    domain: {dim: «*d»}\n", "called `k`"),
    "before a comment": ("    domain:\n      x: any[2 * «k»]  # any\n", "called `k`"),
    "behind a tab": ('    domain: {x: "any[n],\\t_ < «k»"}\n', "called `k`"),
    "no expression": ('    domain: {x: "any[1 «?» 2]"}\n', "is not an expression"),
    "of an empty variable": ('    domain: {T: "«"», x: T}\n', "a dtype is missing"),
    "condition": ("    kernels: {CPU: {kernel: k.py:f, when: «rows» <= 3}}\n", "nothing is called `rows`"),
    "of a list": (
        "    kernels:\n      CPU:\n        - {kernel: k.py:f, when: 'dim < «mode»'}\n",
        "`mode` is",
    ),
    "condition of elements": ('    kernels: {CPU: {kernel: k.py:f, when: "«_» < 3"}}\n', "`_` is the value"),
    "condition that is empty": ("    kernels: {CPU: {kernel: k.py:f, when: «''»}}\n", "empty"),
    "condition that is true": ("    kernels: {CPU: {kernel: k.py:f, when: «true»}}\n", "`when`"),
}


def findings(tmp_path, text):
    path = tmp_path / "registry.yaml"
    path.write_text(text, encoding="utf-8")
    return load_manifest(path).diagnostics


@pytest.mark.parametrize(("text", "words"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_one_finding_at_its_place_in_the_file(tmp_path, text, words):
    before, marked, after = HEAD + text.partition("«")[0], *text.partition("«")[2].partition("»")[::2]
    (finding,) = findings(tmp_path, f"{before}{marked}{after}")
    line = before.rpartition("\n")[2]
    span = finding.span
    place = (before.count("\n") + 1, len(line) + 1, len(line) + 1 + len(marked))
    assert (span.line, span.column, span.end_column) == place, finding
    assert words in finding.message
    assert finding.advice
