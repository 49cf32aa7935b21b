"""From source to image: read -> parse -> check -> generate. The table of contents of the compiler.

Hands on `compile_source` to the command line, the API, the REPL and the driver of the conformance suite; its `Compilation`
holds the image, or the diagnostics that stand in its way. `check_source` is the part of it without an image, which tests and
benchmarks call too. The language server calls the phases itself (`lsp/analysis.py`). Each phase reports all it finds, and the
next starts only if there was no error, or only such as leave the trees whole (L-4.1.2). No file is touched here: the caller
gives a function that reads. A new phase is a step of `check_source`, or of `_generate` where it needs the checked program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..vm.bytecode.image import Image
from .checker.program import CheckedProgram, check_project
from .codegen.constants import TooLong
from .codegen.program import excesses, generate, unreadable
from .collector import gc_pause
from .diagnostics import Diagnostics
from .libraries import FindLibrary, Loaded, attributed, no_libraries
from .manifest import Manifest
from .project import Parser, Reader, load, no_files, parse_file
from .source import Source, Span
from .syntax import ast
from .syntax.ast import on_fresh_stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .incremental import CheckCache


@dataclass(slots=True)
class Compilation:
    """The outcome of a compilation. `image` is None when `diagnostics` holds an error, or when none was asked for; `checked` is
    None when the trees could not be checked; `source` and `tree` are those of the root module, which may have no tree; `sources`
    are all files of the program by their name relative to the project root; `compile_source` adds the manifest, if one was given,
    by its own. `libraries` are those that it uses, by name."""

    diagnostics: Diagnostics
    source: Source | None = None
    tree: ast.Program | None = None
    checked: CheckedProgram | None = None
    image: Image | None = None
    sources: dict[str, Source] = field(default_factory=dict)
    libraries: dict[str, Loaded] = field(default_factory=dict)


def compile_source(
    data: bytes,
    file: str,
    *,
    name: str | None = None,
    emit: bool = True,
    read: Reader = no_files,
    manifest: Manifest | None = None,
    cache: CheckCache | None = None,
    parse: Parser = parse_file,
    find_library: FindLibrary = no_libraries,
) -> Compilation:
    """Compile the program whose root module is `data`, the bytes of `file`: the name that positions show, relative to the
    project root (V-3.4). `read` returns the bytes of another file by such a name, None where there is none; `name` is the
    program's name, by default the stem of `file`; without `emit` the phases stop after checking, and a `cache` may spare them
    what an earlier check came to. `manifest` is that of the project: its errors are errors of the program (O-9.8), its prices
    and budgets go into the image. `parse` does what `parse_file` does, where there is no cache; `find_library` returns the
    libraries that paths name (P-3.1). What no image can hold is an error too (E0114). Nothing is raised for a wrong program;
    what `read` and `find_library` raise passes through, except `Refused` of the one, which becomes E1004, and `NoLibrary` of the
    other, which becomes the diagnostic that it describes. AssertionError for a cache together with `emit`."""
    assert cache is None or not emit, "an image needs every body"
    with gc_pause():
        result = check_source(data, file, read, manifest, cache, parse, find_library)
        if emit and result.checked is not None and not result.diagnostics.has_errors:
            stem = file.rpartition("/")[2].removesuffix(".conc")
            _generate(result, file, name or stem)
        if manifest is not None:
            _add_manifest(result, manifest)
        return result


def _add_manifest(result: Compilation, manifest: Manifest) -> None:
    """Add the diagnostics of the manifest, or take its prices and budgets over into the image."""
    result.sources[manifest.source.name] = manifest.source
    for diagnostic in manifest.diagnostics.found:
        result.diagnostics.add(diagnostic)
    if result.diagnostics.has_errors:
        result.image = None
    elif result.image is not None:
        result.image.header.pricing, result.image.header.budgets = manifest.pricing, manifest.budgets
        for extern in result.image.externs:
            extern.thread = manifest.threads.get(extern.module, True)


def _generate(result: Compilation, file: str, name: str) -> None:
    """Set the image of the result, or report E0114 for what no image can hold."""
    assert result.checked is not None
    # Sorted by name, so that the bytes of the image do not depend on the order of reading (V-3.4).
    sources = sorted(result.sources.values(), key=lambda source: source.name)
    try:
        image = on_fresh_stack(generate, result.checked, sources, name)  # whatever the caller has used of Python's stack
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
    # Only a sound image is tried: what an excess has been reported for would fail again.
    if not result.diagnostics.has_errors and (why := unreadable(image)) is not None:
        result.diagnostics.report("E0114", Span(file, 0, 0), f"no image can hold the program: {why}", help="split it up")
    if not result.diagnostics.has_errors:
        result.image = image


def check_source(
    data: bytes,
    file: str,
    read: Reader = no_files,
    manifest: Manifest | None = None,
    cache: CheckCache | None = None,
    parse: Parser = parse_file,
    find_library: FindLibrary = no_libraries,
) -> Compilation:
    """Read, parse and check a program without making an image; the parameters are those of `compile_source`. The diagnostics of
    the manifest are not added. What `read` and `find_library` raise passes through, except `Refused` and `NoLibrary`. With a
    cache what earlier checks came to is not worked out again: the diagnostics are the same, but the tree lacks the bodies that
    the cache knows, and may be None after errors of syntax. Without one the tree is None only where the root file cannot be
    decoded or has a lexical error."""
    found = Diagnostics()
    project = load(file, data, read, found, parse if cache is None else cache.parse, find_library)
    result = Compilation(found, project.sources[file], sources=project.sources, libraries=project.libraries)
    if manifest is not None:
        project.configure(manifest)
    if found.leave_trees:
        result.checked = check_project(project, found, cache)
    if project.libraries:
        result.diagnostics = Diagnostics()
        for diagnostic in attributed(found.found, project.file_libraries, project.libraries):
            result.diagnostics.add(diagnostic)
    result.tree = project.trees.get(file)
    return result
