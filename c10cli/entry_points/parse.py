"""The entry point of a kernel: ``file.py:function`` or ``package.module:name``."""

from __future__ import annotations

import keyword
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from c10cli.errors import Diagnostic, ManifestError, Span

__all__ = ["EntryPoint", "parse_entry_point"]

_WRITE = "write `file.py:function`, relative to the manifest, or `package.module:name`"
_USUAL = re.compile(
    r"([A-Za-z_][\w/]*\w\.py):([A-Za-z_]\w*)", re.ASCII
)  # the long way takes five times as long
# After the first, a part may be a keyword: `torch:ops.aten.random.from` is found by its name.
_INSTALLED = r"(?a:([A-Za-z_]\w*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*))"
_DRIVE = r"[A-Za-z]:[\\/]"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Where a function is found; nothing is opened or imported here.

    Args:
        text: as the manifest has it.
        file: a path with ``/``, relative to *folder* and inside it; or None.
        module: the dotted name of an installed module; or None.
        attribute: the function's name, dotted where it sits inside something.
        folder: the folder of the manifest that names it.
    """

    text: str
    file: str | None
    module: str | None
    attribute: str
    folder: Path
    span: Span | None = None

    @property
    def path(self) -> Path | None:
        """The file to load, where the entry point names one."""
        return self.folder / self.file if self.file is not None else None

    @property
    def module_beside(self) -> Path | None:
        """The file of `module` in *folder*, which serves where no such module is installed."""
        if self.module is None:
            return None
        stem = self.folder.joinpath(*self.module.split("."))
        candidates = (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")
        return next((path for path in candidates if path.is_file()), None)

    @property
    def name(self) -> str:
        """The last part of the attribute: the function's own name."""
        return self.attribute.rpartition(".")[2]

    def __str__(self) -> str:
        return self.text


def parse_entry_point(text: str, folder: Path, span: Span | None = None) -> EntryPoint:
    """The entry point that *text* spells.

    Raises:
        ManifestError: C10E109, with the text quoted.
    """
    match = _USUAL.fullmatch(text)
    if match and not keyword.iskeyword(match[2]):
        return EntryPoint(text, match[1], None, match[2], folder, span)
    match = re.fullmatch(_INSTALLED, text)
    if match and not any(map(keyword.iskeyword, (match[1], match[2].partition(".")[0]))):
        return EntryPoint(text, None, match[1], match[2], folder, span)
    fault = _fault(text)
    if fault:
        message, help = fault
        raise ManifestError(Diagnostic("C10E109", f"entry point `{text}` {message}", span, help=help))
    place, _, attribute = text.partition(":")
    if place.endswith(".py"):
        return EntryPoint(text, posixpath.normpath(place), None, attribute, folder, span)
    return EntryPoint(text, None, place, attribute, folder, span)


def _fault(text: str) -> tuple[str, str] | None:
    """What is wrong with *text*, and what to write instead."""
    if "://" in text:
        return "is a URL, and kernels are not downloaded", _WRITE
    if text.startswith(("/", "\\", "~")) or re.match(_DRIVE, text):
        return "is an absolute path", "write the path relative to the manifest"
    if ":" not in text:
        return "has no `:`", _WRITE
    if text.count(":") > 1:
        return f"has {text.count(':')} colons, and one is wanted", _WRITE
    place, attribute = text.split(":")
    if not place or not attribute:
        side = "before" if not place else "after"
        return f"has nothing {side} the `:`", _WRITE
    return _place_fault(place) or _attribute_fault(attribute)


def _place_fault(place: str) -> tuple[str, str] | None:
    if "\\" in place:
        return "has a backslash", "separate folders with `/`"
    if not place.endswith(".py"):
        if "/" in place:
            return "is a path that does not end in `.py`", _WRITE
        return None if _is_dotted(place) else ("does not begin with a module name", _WRITE)
    if posixpath.normpath(place).startswith("../"):
        return "leaves the folder of the manifest", "move the file beside the manifest or below it"
    if not place.isprintable():
        return "has a character that cannot be seen", _WRITE
    return None


def _attribute_fault(attribute: str) -> tuple[str, str] | None:
    return None if _is_dotted(attribute) else (f"names `{attribute}`, which is no Python name", _WRITE)


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in text.split("."))
