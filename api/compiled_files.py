"""The program of a source file, compiled once and kept in `__pycache__` beside it (P-2.1).

Hands on `program_of_file` to the importer (`imports.py`). Two files are kept: the image `NAME.concb`, as `concerto compile`
writes it, and the record `NAME.concb.json`, which says of which files by their hashes, those of libraries too, of which versions,
and what the image does not hold (`interface.py`). A record that does not fit what is there now, or cannot be read, counts as
none, and so does an image that the record does not name; what cannot be written is not kept. While a record fits, of the compiler
only what finds the manifest and what pauses the garbage collector is loaded, and what finds libraries where the program has some.
The two are trusted as far as Python trusts `__pycache__`: who may write there may write the source.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from importlib.util import cache_from_source
from typing import Any

from ..compiler.collector import gc_pause
from ..compiler.manifest_file import find_manifest
from ..vm.bytecode import image as im
from ..vm.bytecode.encoding import content_hash, encode, sha256
from ..vm.bytecode.opcodes import OPCODE_SET_VERSION
from ..vm.interp.link import load_bytes
from .interface import Interface
from .program import Asked, Program, compiled_file

_MEANING = 2  # of the record; a change of what its fields say is another number
_UNFIT = (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def program_of_file(path: str, release: str) -> Program:
    """Return the program of a source file, which is compiled if what is kept of it does not fit; `release` is the version of this
    package. Raise CompileError for a source with errors, OSError for one that cannot be read."""
    path = os.path.realpath(path)
    places = _places(path)
    if places is not None:
        with contextlib.suppress(*_UNFIT, im.ImageError):
            return _kept(path, *places, release)
    asked = Asked()
    program, root = compiled_file(path, asked)
    if places is not None and not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):  # a folder that cannot be written to keeps nothing
            _keep(path, *places, release, program, root, asked)
    return program


def _places(path: str) -> tuple[str, str] | None:
    """Return where image and record of a source are kept, in the folder that Python has for compiled modules; None where it has
    none."""
    try:
        folder = os.path.dirname(cache_from_source(path))
    except NotImplementedError:
        return None
    place = os.path.join(folder, os.path.basename(path).removesuffix(".conc") + ".concb")
    return place, f"{place}.json"


def _versions(release: str) -> list[Any]:
    return [_MEANING, release, *im.FORMAT, im.STD_VERSION, OPCODE_SET_VERSION]


def _kept(path: str, image_place: str, record_place: str, release: str) -> Program:
    """Return the program that is kept of a source. Raise one of _UNFIT or an ImageError if that does not fit it, or is none."""
    with open(record_place, "rb") as file:
        digest, _, text = file.read().partition(b"\n")
    if digest.decode() != sha256(text).hexdigest():
        raise ValueError("the record is damaged")
    record = json.loads(text)
    if record["versions"] != _versions(release):
        raise ValueError("the record is of another version")
    manifest = find_manifest(os.path.dirname(path))
    if record["manifest"] != _of_manifest(path, manifest):
        raise ValueError("the manifest is another one")
    root = os.path.join(os.path.dirname(path), record["root"])
    for name, known in record["files"].items():
        if _hash(os.path.join(root, *name.split("/"))) != known:
            raise ValueError(f"{name} has changed")
    _require_libraries(record["libraries"])
    with open(image_place, "rb") as file:
        data = file.read()
    if content_hash(data) != record["image"]:
        raise ValueError("the image is another one")
    interface = Interface(record["functions"], record["types"])
    served = {str(name): str(source) for name, source in record["serve_keys"].items()}
    # It was compiled of this source, so it counts as compiled here (G-1.2): the permissions of its project are for it.
    with gc_pause():
        program = load_bytes(data, trust="local")
    return Program(program, (), None if manifest is None else os.path.dirname(os.path.realpath(manifest)), interface, served)


def _of_manifest(path: str, manifest: str | None) -> list[str | None] | None:
    """Return what a record says of a manifest: its place as seen from the source, and its hash."""
    return None if manifest is None else [os.path.relpath(manifest, os.path.dirname(path)), _hash(manifest)]


def _hash(path: str) -> str | None:
    """Return the hash of a file, None where there is nothing of that name. Raise OSError for what cannot be read."""
    try:
        with open(path, "rb") as file:
            return str(sha256(file.read()).hexdigest())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _hashes(files: dict[str, bytes | None]) -> dict[str, str | None]:
    return {name: None if content is None else sha256(content).hexdigest() for name, content in files.items()}


def _require_libraries(known: dict[str, list[Any]]) -> None:
    """Raise ValueError unless the libraries of this environment are the ones that a record has."""
    if not known:
        return
    from ..compiler.installed import installed_library
    from ..compiler.libraries import NoLibrary

    for name, (release, files) in known.items():
        try:
            library = installed_library(name)
        except NoLibrary as refused:
            raise ValueError(str(refused)) from None
        if f"{library.distribution} {library.version}" != release:
            raise ValueError(f"the library {name} is another one")
        for part, digest in files.items():
            content = library.read(part)
            if (None if content is None else sha256(content).hexdigest()) != digest:
                raise ValueError(f"{name}/{part} has changed")


def _keep(
    path: str,
    image_place: str,
    record_place: str,
    release: str,
    program: Program,
    root: str,
    asked: Asked,
) -> None:
    folder = os.path.dirname(path)
    data = encode(program._linked.image)
    record = {
        "versions": _versions(release),
        "image": content_hash(data),
        "manifest": _of_manifest(path, find_manifest(folder)),
        "root": os.path.relpath(root, folder),
        "files": _hashes(asked.files),
        "libraries": {name: [release, _hashes(files)] for name, (release, files) in asked.libraries.items()},
        "functions": program.interface.functions,
        "types": program.interface.types,
        "serve_keys": dict(program.serve_keys),
    }
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass")
    os.makedirs(os.path.dirname(image_place), exist_ok=True)
    _write(image_place, data)
    _write(record_place, sha256(text).hexdigest().encode() + b"\n" + text)


def _write(place: str, data: bytes) -> None:
    """Write all of a file or nothing. Raise OSError."""
    temporary = f"{place}.{os.getpid()}.{threading.get_ident()}"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
