"""An open document and the program around it, as far as the compiler understands both.

Hands on `Analysis` and `analyse`. Text that an editor holds comes before what lies on disk. A program with errors is looked
at all the same: what was typed before the error is still known. Must not know: positions of editors, what is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ..compiler import ast
from ..compiler.checker import Examined, examine_project
from ..compiler.diagnostics import Diagnostic, Diagnostics
from ..compiler.loading import Project, load
from ..compiler.project import Location, locate
from ..compiler.source import Source


@dataclass(slots=True)
class Analysis:
    """One document: its name in the program, the program's root, files and diagnostics. `examined` is None where nothing can be
    said about names and types."""

    file: str
    root: str
    project: Project
    diagnostics: list[Diagnostic]
    examined: Examined | None

    @property
    def source(self) -> Source:
        return self.project.sources[self.file]

    @property
    def tree(self) -> ast.Program | None:
        return self.project.trees.get(self.file)

    @property
    def own(self) -> list[Diagnostic]:
        """The diagnostics of the document itself."""
        return [found for found in self.diagnostics if found.span.file == self.file]


def analyse(path: str, text: str, open_texts: Mapping[str, str]) -> Analysis:
    """The document at `path` with this text. In a project it is looked at as a part of its program, if it is one."""
    location = locate(path)
    texts = {**open_texts, os.path.realpath(path): text}
    entry = _entry(location)
    if entry is not None and entry != location.file:
        whole = _analyse(entry, location, texts)
        if location.file in whole.project.sources:
            whole.file = location.file
            return whole
    return _analyse(location.file, location, texts)


def _entry(location: Location) -> str | None:
    manifest = location.manifest
    if manifest is None or manifest.entry is None:
        return None
    path = os.path.realpath(os.path.join(manifest.folder, manifest.entry))
    return os.path.relpath(path, location.root).replace(os.sep, "/") if os.path.isfile(path) else None


def _analyse(main: str, location: Location, texts: Mapping[str, str]) -> Analysis:
    def read(name: str) -> bytes | None:
        held = texts.get(os.path.realpath(os.path.join(location.root, *name.split("/"))))
        return location.read(name) if held is None else held.encode("utf-8", "replace")

    diagnostics = Diagnostics()
    project = load(main, read(main) or b"", read, diagnostics)
    if location.manifest is not None:
        project.configure(location.manifest)
    broken = not diagnostics.leave_trees
    examined = None
    if all(name in project.trees for name in project.sources):
        examined = _examine_broken(project) if broken else examine_project(project, diagnostics)
    return Analysis(main, location.root, project, diagnostics.ordered(), examined)


def _examine_broken(project: Project) -> Examined | None:
    """What can still be said of trees with holes, which no phase behind the parser has to take: whatever happens then, the
    syntax errors are what the user sees."""
    try:
        return examine_project(project, Diagnostics())
    except Exception:
        return None
