"""Going on with a run: what it was begun with is still there, and which of its cases still hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from c10cli.bench.plan import Plan
from c10cli.bench.result import RunResult
from c10cli.bench.sources import Sources
from c10cli.errors import BenchError, Diagnostic
from c10cli.jobs.fingerprint import file_digests
from c10cli.manifest.model import Manifest

__all__ = ["Earlier", "check_same_registry", "earlier_cases"]


def check_same_registry(run: RunResult, manifest: Manifest) -> None:
    """Refuse to go on with *run* where *manifest* is not the one that it began with.

    It may be reached by another path, and may have been moved with all that it includes.

    Raises:
        BenchError: C10E604, with the file that the run measured, or those that were changed since.
    """
    before: Mapping[str, Any] = run.plan
    shown = str(before.get("registry", manifest.path))
    place = Path(str(before.get("registry_path") or os.path.realpath(shown)))
    is_there = os.path.exists(place)  # noqa: PTH110 - total, also where it may not be looked at
    is_moved = shown == str(manifest.path) and not is_there
    if os.path.realpath(manifest.path) != str(place) and not is_moved:
        path = _from_here(place)
        fact = f"run `{run.run_id}` measured `{path}`, not `{manifest.path}`"
        todo = f"go on with --registry {path}" if is_there else "that is gone; begin a new run"
        raise BenchError(Diagnostic("C10E604", fact, help=todo))
    files = before.get("files")
    changes = _changes(files, file_digests(manifest), manifest.folder) if isinstance(files, Mapping) else ""
    if changes:
        fact = f"{changes} since run `{run.run_id}` began"
        note = "its cases would be of two registries"
        raise BenchError(Diagnostic("C10E604", fact, notes=(note,), help="begin a new run"))


def _from_here(path: Path) -> Path:
    """*path* as it can be given in the current folder."""
    here = Path(os.path.realpath(os.curdir))
    return path.relative_to(here) if path.is_relative_to(here) else path


def _changes(before: Mapping[str, str], now: Mapping[str, str], folder: Path) -> str:
    """Which of the files in *folder* are not what they were."""
    changed = [name for name in before if now.get(name, before[name]) != before[name]]
    found = (
        (changed, "changed"),
        (now.keys() - before.keys(), "added"),
        (before.keys() - now.keys(), "removed"),
    )
    told = [
        f"{_listed(os.path.normpath(folder / name) for name in names)} {_was(len(names))} {what}"
        for names, what in found
        if names
    ]
    return " and ".join(told)


def _listed(names: Iterable[str]) -> str:
    *first, last = sorted(f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The right cases of a run that is gone on with.

    Args:
        done: ids of those whose sources are as they were.
        stale: for the ids of the others, which sources were changed; none
            where the run does not say what it measured.
    """

    done: frozenset[str]
    stale: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def without_lost(self, run: RunResult, plan: Plan) -> RunResult:
        """*run* without the stale cases that *plan* does not measure again.

        That may be for want of a device.  Beside those that are measured, they
        would make one report of two kernels.
        """
        lost = self.stale.keys() - plan.case_ids()
        return replace(run, cases=tuple(case for case in run.cases if case.id not in lost)) if lost else run

    def told(self, plan: Plan) -> list[str]:
        """A line for each thing that became of stale cases, why included."""
        again = self.stale.keys() & plan.case_ids()
        groups = (
            (again, "measured again"),
            (self.stale.keys() - again, "left out, which cannot be measured here"),
        )
        return [f"{_counted(len(ids))} {what}: {self._why(ids)}" for ids, what in groups if ids]

    def _why(self, ids: Iterable[str]) -> str:
        found = [self.stale[identity] for identity in ids]
        names = {name for changed in found for name in changed}
        told = [f"{_listed(names)} {_was(len(names))} changed since"] if names else []
        told += [] if all(found) else ["the run does not say what their kernels' sources were"]
        return "; ".join(told)


def _counted(count: int) -> str:
    return f"{count} case is" if count == 1 else f"{count} cases are"


def earlier_cases(run: RunResult, manifest: Manifest) -> Earlier:
    """Which right cases of *run* still hold: those measured from sources that are the same now.

    A case that does not say from what it was measured, as older versions wrote
    them, does not hold: its time may be of any kernel, and to measure it
    again costs less than a report of two.
    """
    sources = Sources(manifest.folder)
    right = [case for case in run.cases if case.status == "ok"]
    changed = {case.id: tuple(sources.changed(case.sources)) for case in right}
    stale = {case.id: changed[case.id] for case in right if changed[case.id] or not case.sources}
    return Earlier(frozenset(changed.keys() - stale.keys()), stale)
