"""From source to image: read -> parse -> check -> generate. The table of contents of the compiler.

`compile_source` gives a `Compilation`: the image, or the diagnostics that stand in its way. Each phase reports all it
finds and the next starts only if there was no error (L-4.1.2).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..vm.bytecode.image import Image
from . import ast
from .checked import CheckedProgram
from .checker import check_project
from .codegen.constants import TooLong
from .codegen.program import generate
from .codegen.sizes import excesses, too_costly
from .diagnostics import Diagnostics
from .loading import Reader, load, no_files
from .manifest import Manifest
from .resting import collector_resting
from .source import Source, Span


@dataclass(slots=True)
class Compilation:
    """What a compilation gave. `image` is None when `diagnostics` holds an error; `sources` are all files by name."""

    diagnostics: Diagnostics
    source: Source | None = None
    tree: ast.Program | None = None
    checked: CheckedProgram | None = None
    image: Image | None = None
    sources: dict[str, Source] = field(default_factory=dict)


def compile_source(
    data: bytes,
    file: str,
    *,
    name: str | None = None,
    emit: bool = True,
    read: Reader = no_files,
    manifest: Manifest | None = None,
) -> Compilation:
    """Compile the program whose root module is in `file`: the name positions show, relative to the project root (V-3.4). `read`
    gives its other files; `name` is the program's name, by default the stem of `file`; without `emit` the phases stop after
    checking. `manifest`: that of its project, whose errors are errors of the program (O-9.8)."""
    with collector_resting():
        result = check_source(data, file, read, manifest)
        if emit and result.checked is not None and not result.diagnostics.has_errors:
            stem = file.rpartition("/")[2].removesuffix(".conc")
            _generate(result, file, name or stem)
        if manifest is not None:
            _add_manifest(result, manifest)
        return result


def _add_manifest(result: Compilation, manifest: Manifest) -> None:
    result.sources[manifest.source.name] = manifest.source
    for diagnostic in manifest.diagnostics.found:
        result.diagnostics.add(diagnostic)
    if result.diagnostics.has_errors:
        result.image = None
    elif result.image is not None:
        result.image.header.pricing, result.image.header.budgets = manifest.pricing, manifest.budgets


def _generate(result: Compilation, file: str, name: str) -> None:
    """The image, or E0114 for what no image can hold."""
    assert result.checked is not None
    sources = sorted(result.sources.values(), key=lambda source: source.name)
    try:
        image = generate(result.checked, sources, name)
    except RecursionError:  # of a walk over a type; trees are walked by levels
        result.diagnostics.report("E0114", Span(file, 0, 0), "a type of the program nests too deeply", help="split the type up")
        return
    except TooLong as use:
        message = "the uses of constants make too much code: each use of an Array or a Map builds it"
        help = "keep it in a variable, or return it from a function"
        result.diagnostics.report("E0114", use.span or Span(file, 0, 0), message, help=help)
        return
    for number, line, column, message in excesses(image):
        start = sources[number].line_starts[line - 1] + column - 1
        result.diagnostics.report("E0114", Span(sources[number].name, start, start + 1), message, help="split it up")
    if not result.diagnostics.has_errors and (why := too_costly(image)) is not None:
        result.diagnostics.report("E0114", Span(file, 0, 0), f"the program is too large for one image: {why}", help="split it up")
    if not result.diagnostics.has_errors:
        result.image = image


def check_source(data: bytes, file: str, read: Reader = no_files, manifest: Manifest | None = None) -> Compilation:
    diagnostics = Diagnostics()
    project = load(file, data, read, diagnostics)
    result = Compilation(diagnostics, project.sources[file], project.trees.get(file), sources=project.sources)
    if manifest is not None:
        project.configure(manifest)
    if diagnostics.leave_trees:
        result.checked = check_project(project, diagnostics)
    return result
