"""That a manifest is still the one that was read before, though its files may be edited."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from c10cli.document.nodes import Document
from c10cli.errors import Diagnostic, ManifestError
from c10cli.manifest.model import Manifest

__all__ = ["check_same", "file_digests", "manifest_digest"]

_BROKEN = "broken"


def file_digests(manifest: Manifest) -> dict[str, str]:
    """A digest of every file that *manifest* has operators, kernels or cases from.

    Each goes by its path from the manifest's folder, which is the same from
    wherever the manifest was loaded.  A file that could not be included is
    among them, as nothing but that.
    """
    folder = manifest.path.parent
    found = {_name(entry.path, folder): _BROKEN for entry in manifest.disabled}
    for document in {id(document): document for document in _documents(manifest)}.values():
        hashed = hashlib.sha256(document.text.encode("utf-8", "surrogatepass"))
        found[_name(Path(document.file), folder)] = hashed.hexdigest()[:16]
    return found


def _name(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def manifest_digest(manifest: Manifest) -> str:
    """One digest of all `file_digests` of *manifest*, and of their order, which is that of its operators."""
    return hashlib.sha256(repr([*file_digests(manifest).items()]).encode()).hexdigest()[:16]


def _documents(manifest: Manifest) -> Iterator[Document]:
    """Where the operators are defined, and where kernels and cases are added to them."""
    for operator in manifest.operators:
        yield operator.node.document
        yield from (kernel.node.document for kernel in operator.kernels)
        yield from (case.node.document for case in operator.cases)


def check_same(manifest: Manifest, digest: str) -> None:
    """Refuse *manifest* where its digest is not *digest*: places in it would mean other kernels and cases.

    Raises:
        ManifestError: C10E101.
    """
    if manifest_digest(manifest) != digest:
        raise ManifestError(
            Diagnostic(
                "C10E101",
                "the manifest was changed while its kernels were being run",
                place=str(manifest.path),
                help="begin again, and leave the file alone meanwhile",
            )
        )
