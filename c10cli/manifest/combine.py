"""What the files of one manifest say together: who defines an operator, who extends it, who has to stay out.

What a definition says lies at the bottom.  On it come the files that extend the
operator, each above those that it includes, for who includes knows, and who is
included cannot.  A file whose kernels come before others of their key says why,
under `override`; everything else that two files say of one thing is a fault.
A file with a fault is left out, and so are those that extend its operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from c10cli.document.findings import Findings
from c10cli.document.nodes import Document
from c10cli.errors import Diagnostic, Span, capped, did_you_mean
from c10cli.manifest.cases import case_given_twice, check_inputs
from c10cli.manifest.declarations import (
    Declared,
    DisabledManifest,
    ExtensionDecl,
    KernelDecl,
    OperatorDecl,
    Waiver,
)
from c10cli.manifest.entries import check_condition, same_name
from c10cli.schema.model import FunctionSchema, OperatorName, schema_differences

# Comparing a name with ten thousand others takes long; of very many findings, the first have near names.
_MOST_COMPARED = 20


@dataclass(frozen=True, slots=True, eq=False)
class ManifestFile:
    """What one file says itself; what its includes say is theirs.

    Args:
        removals: its waivers for operators that are gone.
        findings: what is wrong with it, whatever others say.
        unread: the names of operators that it defines with a faulty schema.
        below: the files that it includes, directly or through others.
        document: what was read.
        span: the first include that names it; None: it is the root.
    """

    path: Path
    span: Span | None
    operators: tuple[OperatorDecl, ...] = ()
    extensions: tuple[ExtensionDecl, ...] = ()
    removals: tuple[Waiver, ...] = ()
    findings: Findings = field(default_factory=Findings)
    unread: frozenset[str] = frozenset()
    below: frozenset[ManifestFile] = frozenset()
    document: Document | None = None
    is_manifest: bool = True


# A fault, and the file whose fault it is.
_Fault = tuple[ManifestFile, Diagnostic]
_Extensions = dict[OperatorName, list[tuple[ManifestFile, ExtensionDecl]]]


class Together:
    """The files of a manifest, and what they declare together.

    Args:
        files: each after those that it includes, and so the root last.
        outside: the schemas of the operators that a dispatcher defines.
    """

    def __init__(self, files: Sequence[ManifestFile], outside: Mapping[OperatorName, FunctionSchema]) -> None:
        self.files, self.root, self.outside = files, files[-1], outside
        # Causes before what follows from them.
        self.faults = {file: Findings(file.findings) for file in files if file.findings}
        # Each file is compared with those that have no fault of their own.
        self.sound = self._enabled()
        for file, finding in [*self._defined_twice(), *self._contradictions()]:
            self._report(file, finding)
        self._report_undefined()

    def operators(self) -> tuple[OperatorDecl, ...]:
        """The operators: the root's, then those of its includes, then those that are defined outside."""
        enabled = self._enabled()
        extended = _extensions(file for file in self.files if file in enabled)
        found = [
            _combined(operator, extended.pop(operator.name, ()))
            for file in enabled
            for operator in file.operators
        ]
        for name, extensions in extended.items():
            if name in self.outside:
                found.append(_combined(self._from_outside(name, extensions[0][1]), extensions))
        return tuple(found)

    def disabled(self) -> tuple[DisabledManifest, ...]:
        """The includes with faults."""
        return tuple(
            DisabledManifest(
                file.path, file.span, tuple(_included_at(file.span, finding) for finding in found.told())
            )
            for file, found in self.faults.items()
            if file.span is not None
        )

    def own(self) -> Findings:
        """The faults of the root."""
        return self.faults.get(self.root, Findings())

    def _report(self, file: ManifestFile, finding: Diagnostic) -> None:
        self.faults.setdefault(file, Findings()).append(finding)

    def _enabled(self) -> dict[ManifestFile, None]:
        """The root, whatever is wrong with it, and the includes without a fault."""
        return dict.fromkeys([self.root, *(file for file in self.files if file not in self.faults)])

    def _from_outside(self, name: OperatorName, extension: ExtensionDecl) -> OperatorDecl:
        return OperatorDecl(self.outside[name], extension.node, is_outside=True)

    def _defined_twice(self) -> Iterator[_Fault]:
        first: dict[OperatorName, OperatorDecl] = {}
        for file in self.sound | dict.fromkeys(self.files):
            for operator in file.operators:
                if operator.name in first:
                    yield file, defined_twice(first[operator.name], operator)
                elif file in self.sound:
                    first[operator.name] = operator

    def _contradictions(self) -> Iterator[_Fault]:
        """What the files that extend an operator say of it and cannot hold."""
        extended = _extensions(self.files)
        bases = {o.name: o for file in reversed(self.sound) for o in file.operators if o.name in extended}
        for name, extensions in extended.items():
            if name in self.outside and name not in bases:
                bases[name] = self._from_outside(name, extensions[0][1])
            for file, extension in extensions if name in bases else ():
                others = [(f, e) for f, e in extensions if f is not file and f in self.sound]
                included = [e for f, e in others if f in file.below]
                beside = [e for f, e in others if f not in file.below and file not in f.below]
                for finding in _faults_of(extension, bases[name], included, beside):
                    # What it means to override may be in a file that has a fault.
                    if finding.code != "C10E309" or all(f is file for f in self.faults):
                        yield file, finding

    def _report_undefined(self) -> None:
        """Report extensions of what nobody defines, which may leave others without their operator."""
        waiting = [(file, extension) for file in self.files for extension in file.extensions]
        definers = "neither a manifest nor the dispatcher" if self.outside else "no manifest"
        while True:
            known = {operator.name for file in self._enabled() for operator in file.operators}
            known |= self.outside.keys()
            missing = [(file, extension) for file, extension in waiting if extension.name not in known]
            if not missing:
                return
            waiting = [(file, extension) for file, extension in waiting if extension.name in known]
            disabled = [file for file in self.faults if file is not self.root]
            absent = {f: f.unread.union(str(operator.name) for operator in f.operators) for f in disabled}
            for index, (file, extension) in enumerate(missing):
                name = str(extension.name)
                if name in self.root.unread | file.unread:
                    continue  # where its definition has a fault, that is found
                causes, verb = [other for other in disabled if name in absent[other]], "defines"
                if not causes:
                    causes, verb = [other for other in disabled if other is not file], "may define"
                todo = f"correct {' and '.join(f'`{cause.path}`' for cause in causes[:3])}" if causes else ""
                if not causes and index < _MOST_COMPARED:
                    todo = did_you_mean(name, map(str, known))
                finding = Diagnostic(
                    "C10E303",
                    f"operator `{name}`, which this entry extends, is defined by {definers}",
                    extension.schema_span,
                    notes=tuple(f"`{cause.path}`, which is disabled, {verb} it" for cause in causes[:3]),
                    help=todo or "include the manifest that defines it, or name the one that includes this",
                )
                self._report(file, finding)


def defined_twice(first: OperatorDecl, second: OperatorDecl) -> Diagnostic:
    """The finding for *second*, which has the name of *first*."""
    differences = schema_differences(first.schema, second.schema)[:4] or ["the two schemas are the same"]
    return Diagnostic(
        "C10E301",
        f"operator `{second.name}` is defined twice",
        second.schema_span,
        label="second one",
        notes=(f"the first is at {first.schema_span}", *differences),
        help="remove one, or give it an overload name of its own",
    )


def _included_at(span: Span, finding: Diagnostic) -> Diagnostic:
    if finding.span is None:  # of a file that could not be read
        todo = "write the path of a manifest that is there, from the folder of this one"
        finding = replace(finding, span=span, help=finding.help or todo)
    return finding.with_notes(f"included at {span}")


def _extensions(files: Iterable[ManifestFile]) -> _Extensions:
    found: _Extensions = {}
    for file in files:
        for extension in file.extensions:
            found.setdefault(extension.name, []).append((file, extension))
    return found


def _combined(
    operator: OperatorDecl, extensions: Sequence[tuple[ManifestFile, ExtensionDecl]]
) -> OperatorDecl:
    """*operator* with the kernels and cases of all: its own keys first, then new ones."""
    if not extensions:
        return operator
    decls: list[Declared] = [operator, *(extension for _, extension in extensions)]
    kernels = [
        kernel
        for key in dict.fromkeys(key for decl in decls for key in decl.dispatch_keys)
        for decl in reversed(decls)
        for kernel in decl.variants(key)
    ]
    cases = tuple(case for decl in decls for case in decl.cases)
    return replace(operator, kernels=tuple(kernels), cases=cases)


def _faults_of(
    extension: ExtensionDecl,
    base: OperatorDecl,
    included: Sequence[ExtensionDecl],
    beside: Sequence[ExtensionDecl],
) -> Iterator[Diagnostic]:
    """What *extension* says of the operator *base* and cannot hold.

    Args:
        included: what files that its own includes say of the operator.
        beside: what files say of it that neither include its own nor are included by it.
    """
    owner = f"`{base.name}`"
    below: list[Declared] = [base, *included]
    for key in extension.dispatch_keys:
        own = extension.variants(key)
        under = [decl.variants(key) for decl in below if decl.variants(key)]
        rivals = [decl.variants(key) for decl in beside if decl.variants(key)]
        if rivals or (under and not own[0].override):
            yield _given_twice(owner, own[0], [*under, *rivals], are_beside=bool(rivals))
        elif under:
            names = {kernel.name: kernel for kernels in under for kernel in kernels}
            yield from (same_name(k, names[k.name], owner) for k in own if k.name in names)
        elif own[0].override and not base.is_outside:
            yield _nothing_to_override(owner, extension, key)
    for kernel in extension.kernels if not base.is_outside else ():  # whose domain is the dispatcher's
        yield from check_condition(kernel, owner, base.schema, base.domain)
    for case in extension.cases:
        same = [other for decl in (*below, *beside) for other in decl.cases if other.name == case.name]
        if same:
            notes = capped([f"the other is at {other.span}" for other in same], 4)
            yield replace(case_given_twice(case, same[0], owner), notes=notes)
        yield from check_inputs(case.node, f"case `{case.name}` of {owner}", base.schema)


def _given_twice(
    owner: str, kernel: KernelDecl, others: Sequence[Sequence[KernelDecl]], *, are_beside: bool
) -> Diagnostic:
    key = kernel.dispatch_key
    include = "let one manifest include the other, and " if are_beside else ""
    return Diagnostic(
        "C10E302",
        f"{owner} has `{key}` kernels from another manifest too",
        kernel.key_span,
        notes=capped([f"`{other[0].name}` is given at {other[0].span}" for other in others], 4),
        help=f"leave these out, or {include}say beside `operator` why they come first: "
        f'`override: {{{key}: "…"}}`',
    )


def _nothing_to_override(owner: str, extension: ExtensionDecl, key: str) -> Diagnostic:
    table = extension.node.child("override")
    others = "neither its definition nor an included manifest has"
    return Diagnostic(
        "C10E309",
        f"`override` of {owner} names `{key}`, for which {others} kernels",
        table.span(key, "key") if key in table.value else table.span(),  # where the key is misspelt
        help=f"leave `{key}` out of `override`",
    )
