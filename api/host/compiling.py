"""Sources and images become programs (O-9.39).

Hands on `compile` and `load`. The compiler is imported by `compile` only.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..vm.bytecode import image as im
from ..vm.load import load_bytes, load_image
from .errors import CompileError, Diagnostic, ImageError
from .programs import Program

if TYPE_CHECKING:
    from ..compiler.manifest import Manifest
    from ..compiler.pipeline import Compilation

PathLike = str | os.PathLike[str]


def compile(source: str | None = None, *, path: PathLike | None = None, manifest: PathLike | None = None) -> Program:
    """The program of a source text, or of a file with the modules of its project. `manifest` is the file to read as its
    `Concerto.toml`; left out, a path has that of its project and a text none.

    Raises CompileError with every error of the source; OSError when the file cannot be read.
    """
    if (source is None) == (path is None):
        raise TypeError("compile() takes a source text or path=…, one of the two")
    if source is not None and not isinstance(source, str):
        raise TypeError(f"compile() takes a source text, not {type(source).__name__}; a file is path=…")
    found = _manifest(manifest)
    if path is None:
        result = _compiled_text(source or "", found)
    else:
        result, found = _compiled_file(os.fspath(path), found)
    diagnostics = _diagnostics(result)
    if result.image is None:
        from ..compiler.render import render_text

        raise CompileError(diagnostics, render_text([d for d in result.diagnostics.ordered() if d.is_error], result.sources))
    return Program(load_image(result.image), diagnostics, None if found is None else found.folder)


def _manifest(path: PathLike | None) -> Manifest | None:
    if path is None:
        return None
    from ..compiler.manifest import Manifest

    with open(path, "rb"):  # OSError to the caller, as for the source
        return Manifest(os.fspath(path))


def _compiled_text(source: str, manifest: Manifest | None) -> Compilation:
    from ..compiler.pipeline import compile_source

    return compile_source(source.encode("utf-8", "surrogatepass"), "main.conc", manifest=manifest)


def _compiled_file(path: str, manifest: Manifest | None) -> tuple[Compilation, Manifest | None]:
    from ..compiler.pipeline import compile_source
    from ..compiler.project import locate

    with open(path, "rb") as file:
        data = file.read()
    location = locate(path)
    found = manifest or location.manifest
    return compile_source(data, location.file, read=location.read, manifest=found), found


def _diagnostics(result: Compilation) -> tuple[Diagnostic, ...]:
    from ..compiler.render import render_json

    rows = render_json(result.diagnostics, result.sources)
    names = Diagnostic.__dataclass_fields__
    return tuple(Diagnostic(**{name: row[name] for name in names}) for row in rows)


def load(image: bytes | PathLike) -> Program:
    """The program of an image, given as bytes or as the path of its file. Raises ImageError, or OSError for the file."""
    if isinstance(image, bytes):
        data = image
    else:
        with open(image, "rb") as file:
            data = file.read()
    try:
        return Program(load_bytes(data))
    except im.ImageError as refused:
        raise ImageError(refused.code, refused.message) from None
