"""The entry point of a kernel: ``file.py:function`` or ``package.module:name``."""

from __future__ import annotations

import keyword
import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from c10cli.errors import Diagnostic, ManifestError, Span

_WRITE = "write `file.py:function`, relative to the manifest, or `package.module:name`"
# What needs no second look, which takes five times as long.  After its first part, a name in a
# module may be a keyword: `torch:ops.aten.random.from` is found by its text.
_USUAL = re.compile(r"([A-Za-z_][\w/]*\w\.py|[A-Za-z_]\w*):([A-Za-z_]\w*)(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Where a function is found; nothing is opened or imported here.

    Args:
        text: as the manifest has it.
        file: a path with ``/``, relative to *folder* and inside it; or None.
        module: the dotted name of an installed module; or None.
        attribute: the function's name, dotted where it sits inside something.
        folder: the folder of the manifest that names it.
        roots: the real paths of the folders that a file has to be in, wherever links lead; none: of *folder*.
    """

    text: str
    file: str | None
    module: str | None
    attribute: str
    folder: Path
    span: Span | None = None
    roots: tuple[Path, ...] = ()

    @property
    def path(self) -> Path | None:
        """The file to load, where the entry point names one."""
        return self.folder / self.file if self.file is not None else None

    @property
    def module_beside(self) -> Path | None:
        """The file of `module` in *folder*, which serves where no such module is installed."""
        found = python_file([self.folder], self.module.split(".")) if self.module is not None else None
        return found if found is not None and self.has_inside(found) else None

    def has_inside(self, path: Path) -> bool:
        """Whether *path*, with all links followed, is in one of the folders that it has to be in."""
        return is_inside(path, self.roots or (Path(os.path.realpath(self.folder)),))

    @property
    def name(self) -> str:
        """The last part of the attribute: the function's own name."""
        return self.attribute.rpartition(".")[2]

    @property
    def holder(self) -> str:
        """The file or module that holds the function."""
        return self.file or str(self.module)

    def cause(self, fact: str) -> str:
        """*fact* about what it names, as the cause of findings: a file of another folder is another one."""
        return f"{fact} in {self.folder}" if self.file else fact

    def __str__(self) -> str:
        return self.text


def is_inside(path: Path, roots: Iterable[Path]) -> bool:
    """Whether *path*, with all links followed, is in one of *roots*, which are real paths."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(root) for root in roots)


def python_file(folders: Iterable[str | Path], names: Sequence[str]) -> Path | None:
    """The file of the module or package that *names*, one inside the other, lead to from one of *folders*."""
    stems = [Path(folder, *names) for folder in folders]
    files = [path for stem in stems for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")]
    return next((path for path in files if path.is_file()), None)


def parse_entry_point(
    text: str, folder: Path, span: Span | None = None, roots: tuple[Path, ...] = ()
) -> EntryPoint:
    """The entry point that *text* spells.

    Raises:
        ManifestError: C10E109, with the text quoted.
    """
    match = _USUAL.fullmatch(text)
    if match is None or keyword.iskeyword(match[1]) or keyword.iskeyword(match[2]):
        fault = _fault(text)
        if fault:
            raise ManifestError(Diagnostic("C10E109", f"entry point `{text}` {fault}", span, help=_WRITE))
    place, _, attribute = text.partition(":")
    if place.endswith(".py"):
        return EntryPoint(text, posixpath.normpath(place), None, attribute, folder, span, roots)
    return EntryPoint(text, None, place, attribute, folder, span, roots)


def _fault(text: str) -> str:
    """What is wrong with *text*, if anything."""
    place, _, attribute = text.partition(":")
    is_file = place.endswith(".py")
    rules = (
        ("://" in text, "is a URL, and kernels are not downloaded"),
        (re.match(r"[/\\~]|[A-Za-z]:[\\/]", text), "is an absolute path"),
        (":" not in text, "has no `:`"),
        (":" in attribute, f"has {text.count(':')} colons, and one is wanted"),
        (not place, "has nothing before the `:`"),
        (not attribute, "has nothing after the `:`"),
        ("\\" in place, "has a backslash where `/` is wanted"),
        ("/" in place and not is_file, "is a path that does not end in `.py`"),
        (not is_file and not _is_dotted(place), "does not begin with a module name"),
        (posixpath.normpath(place).startswith("../"), "leaves the folder of the manifest"),
        (not place.isprintable(), "has a character that cannot be seen"),
        (not _is_dotted(attribute), f"names `{attribute}`, which is no Python name"),
    )
    return next((fault for holds, fault in rules if holds), "")


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))
