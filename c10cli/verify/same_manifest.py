"""That a parent and its child process speak of the same manifest, though its file may be edited."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from c10cli.errors import Diagnostic, ManifestError
from c10cli.manifest.document import Document
from c10cli.manifest.model import Manifest

__all__ = ["check_same", "manifest_digest"]


def manifest_digest(manifest: Manifest) -> str:
    """A digest of the texts that *manifest* was read from, its included files among them."""
    hashed = hashlib.sha256()
    for document in {id(document): document for document in _documents(manifest)}.values():
        hashed.update(f"{document.file}\n{document.text}\n".encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()[:16]


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
