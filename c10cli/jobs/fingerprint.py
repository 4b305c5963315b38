"""What a manifest and its kernels were read from, so that a later run can tell whether it is the same."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from c10cli.document.nodes import Document
from c10cli.entry_points.definitions import locate_source
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.errors import Diagnostic, ManifestError
from c10cli.manifest.declarations import Manifest


def fingerprint(manifest: Manifest) -> dict[str, str]:
    """A digest of everything that *manifest* and the functions that it names are read from.

    Of its documents as they were when it was loaded, and of the sources of
    its kernels, caches and references as they are now, all Python files
    beside them included, since a kernel may import those.  Nothing is
    imported: of an installed module, its file and its distribution's version
    count.  A file goes by its path from the manifest's folder, which is the
    same from wherever the manifest was loaded, an installed module by its name.
    """
    folder = manifest.path.parent
    found = {_name(entry.path, folder): "broken" for entry in manifest.disabled}
    for document in {id(document): document for document in _documents(manifest)}.values():
        found[_name(Path(document.file), folder)] = _hashed(document.text.encode("utf-8", "surrogatepass"))
    files: set[Path] = set()
    for entry in _entry_points(manifest):
        source, module = entry.path or locate_source(entry), str(entry.module)
        if isinstance(source, Path) and source in (entry.path, entry.module_beside):
            files.add(source)
        elif module not in found:
            found[module] = _of_module(module, source)
    beside = {path for parent in {file.parent for file in files} for path in parent.glob("*.py")}
    return found | {_name(file, folder): _of_file(file) for file in files | beside}


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What differs between two fingerprints: `` `a.yaml` was changed and `b.py` was removed``."""
    found = {
        "changed": [name for name in before if now.get(name, before[name]) != before[name]],
        "added": now.keys() - before.keys(),
        "removed": before.keys() - now.keys(),
    }
    told = [f"{_listed(names)} {what}" for what, names in found.items() if names]
    return " and ".join(told)


def check_same(manifest: Manifest, before: Mapping[str, str]) -> None:
    """Refuse *manifest* where its fingerprint is not *before*: places in it may mean other kernels.

    Raises:
        ManifestError: C10E101.
    """
    changed = changes(before, fingerprint(manifest))
    if changed:
        fact = f"{changed} while the kernels were being run"
        todo = "begin again, and leave the files alone meanwhile"
        raise ManifestError(Diagnostic("C10E101", fact, place=str(manifest.path), help=todo))


def _name(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _documents(manifest: Manifest) -> Iterator[Document]:
    """Where the operators are defined, and where kernels and cases are added to them."""
    for operator in manifest.operators:
        yield operator.node.document
        yield from (kernel.node.document for kernel in operator.kernels)
        yield from (case.node.document for case in operator.cases)


def _entry_points(manifest: Manifest) -> Iterator[EntryPoint]:
    for operator in manifest.operators:
        named = [entry for kernel in operator.kernels for entry in (kernel.entry_point, kernel.cache)]
        named += [operator.reference, operator.compare, *operator.makers]
        yield from (entry for entry in named if entry is not None)


def _of_file(path: Path) -> str:
    try:
        return _hashed(path.read_bytes()) if path.is_file() else ""  # reading a FIFO would wait
    except OSError:
        return ""


def _of_module(name: str, source: object) -> str:
    version = ""
    with suppress(metadata.PackageNotFoundError):  # its distribution may go by another name
        version = metadata.version(name.partition(".")[0])
    return _hashed(f"{version}\n{_of_file(source) if isinstance(source, Path) else ''}".encode())


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _listed(names: Iterable[str]) -> str:
    *first, last = sorted(f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last} were" if first else f"{last} was"
