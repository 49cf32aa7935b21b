"""From source to image: read -> parse -> check -> generate. The table of contents of the compiler.

`compile_source` gives a `Compilation`: the image, or the diagnostics that stand in its way. Each phase reports all it
finds and the next starts only if there was no error (L-4.1.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..vm.bytecode.image import Image
from . import ast
from .checked import CheckedProgram
from .checker import check
from .codegen.program import generate
from .diagnostics import Diagnostics
from .parse import decode_source, parse
from .source import Source


@dataclass(slots=True)
class Compilation:
    """What a compilation gave. `image` is None when `diagnostics` holds an error."""

    diagnostics: Diagnostics
    source: Source | None = None
    tree: ast.Program | None = None
    checked: CheckedProgram | None = None
    image: Image | None = None


def compile_source(data: bytes, file: str, *, name: str | None = None, emit: bool = True) -> Compilation:
    """Compile one file. `file` is the name positions show (no directory: V-3.4); `name` the program's name, by default the stem
    of `file`; without `emit` the phases stop after checking."""
    result = check_source(data, file)
    if emit and result.checked is not None and not result.diagnostics.has_errors:
        assert result.source is not None
        result.image = generate(result.checked, result.source, name or file.removesuffix(".conc"))
    return result


def check_source(data: bytes, file: str) -> Compilation:
    diagnostics = Diagnostics()
    result = Compilation(diagnostics)
    result.source = decode_source(file, data, diagnostics)
    if result.source is None:  # the diagnostic still points into the text as far as it can be read
        result.source = Source(file, data.decode("utf-8", "replace"))
    if diagnostics.has_errors:
        return result
    result.tree = parse(result.source, diagnostics)
    if not diagnostics.has_errors:
        result.checked = check(result.tree, result.source, diagnostics)
    return result
