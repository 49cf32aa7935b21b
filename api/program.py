"""A compiled program, and the short ways to one and to a run of it (O-9.39).

Hands on `Program`, `compile` and `load` (O-9.39), `run`, `arun`, `resume` and `resume_session` to users, `Program` also to all
that is built on this API; `program_of` to batches and servers, the type `PathLike` to batches, `compiled_file` with `Asked` to
what keeps compiled programs (`compiled_files.py`). An image is a compiled program as bytes. The compiler is imported only where a
source is compiled: a host that runs images does not load it. Calls and what they leave are for `session.py`; a new way to a
program is a function here. What a host demands of an image is checked by `runtime/trust/`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from ..runtime.session.testing import chosen
from ..vm.builtins.models import SHOW
from ..vm.bytecode import image as im
from ..vm.bytecode.encoding import MAGIC, content_hash, encode
from ..vm.bytecode.shape import offers
from ..vm.interp import link
from ..vm.interp.link import load_bytes, load_image
from .channels import Channel, channels_of
from .declared_classes import Declared, classes_of
from .interface import Interface, interface_of
from .json_calls import Signature, signatures_of
from .options import Options, RunOptions
from .results import CompileError, Diagnostic, ImageError, RunResult, TestReport, tested
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..compiler.libraries import Library
    from ..compiler.manifest import Manifest
    from ..compiler.pipeline import Compilation
    from ..runtime.trust.levels import Demand
    from .python_functions import PythonFunctions
    from .recordings import Rehearsed
    from .stored_calls import StoredCall


PathLike = str | os.PathLike[str]


class Program:
    """Code without state: every session begins anew. Made by `compile` and `load`. `warnings` are those of the compiler; what was
    not compiled now, a loaded image and what an earlier import has kept, has none. `serve_keys` are those of `[serve.keys]` in
    the project (S-1.3)."""

    def __init__(
        self,
        linked: link.Program,
        warnings: tuple[Diagnostic, ...] = (),
        project: str | None = None,
        interface: Interface | None = None,
        served: Mapping[str, str] | None = None,
    ) -> None:
        """`linked`: the image, verified and ready for the machine. `project`: the directory of the manifest, where processes of
        agents run; None: the current one (O-7.6). `interface`: what the source says besides, None where there is none. `served`:
        `[serve.keys]` of the manifest."""
        self._linked = linked
        self._project = project
        self.serve_keys: Mapping[str, str] = served or {}
        self.warnings = warnings
        classes = classes_of(linked)  # values get the classes of their types
        if interface is not None:
            classes.interface = interface

    @property
    def name(self) -> str:
        """The name in the image: that of the source file, without its ending; `main` for a source text."""
        return self._linked.image.header.name

    @property
    def content_hash(self) -> str:
        """The identity of the image, the SHA-256 that its bytes end with, in 64 hexadecimal digits: equal images have equal
        ones."""
        return content_hash(self.to_bytes())

    @property
    def trust(self) -> link.Trust:
        """Where the program comes from (G-1.2): "local" was compiled in this process, or by an earlier import of the same source,
        of a "pinned" image the host has named the hash, a "signed" one is signed by a key that the host trusts, anything else is
        "foreign"."""
        return self._linked.trust

    @property
    def wanted(self) -> tuple[str, ...]:
        """The permissions that calls of the program may ask for, as texts (O-10.21); this grants nothing."""
        return tuple(self._linked.image.header.wanted)

    @property
    def interface(self) -> Interface:
        """What its source says besides the image: documentation, and which functions are `async`; nothing of a loaded image."""
        return classes_of(self._linked).interface

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the public functions, sorted, which a session can call."""
        return tuple(sorted(self._linked.image.exports.functions))

    @property
    def types(self) -> Declared:
        """The classes of the structs, schemas and enums that the program declares, as attributes (P-2.4): `program.types.Ticket`.
        What its functions give is of these classes."""
        return Declared(classes_of(self._linked))

    @property
    def channels(self) -> dict[str, Channel]:
        """The declared channels by name, for which a host may have handlers (O-5.36)."""
        return channels_of(self._linked.image)

    @property
    def signatures(self) -> dict[str, Signature]:
        """The public functions by name, with the JSON Schemas of what they take and return."""
        return signatures_of(self._linked.image)

    @property
    def models(self) -> dict[str, str]:
        """The public models (`pub model`) by name, with their doc comments, "" for none."""
        image = self._linked.image
        return {image.models[number].name: doc for number, doc in sorted(offers(image)[1].items())}

    @property
    def memories(self) -> tuple[str, ...]:
        """The names of the memories without keys, in the order of their declarations; without public functions none."""
        if SHOW not in self._linked.language_methods:
            return ()
        return tuple(one.name for one in self._linked.image.memories if "keys" not in one.steps)

    def to_bytes(self) -> bytes:
        """Return the image, which `load` reads."""
        return encode(self._linked.image)

    def save(self, path: PathLike) -> None:
        """Write the image to a file, in place of what it holds. Raises OSError."""
        data = self.to_bytes()
        with open(path, "wb") as file:
            file.write(data)

    def session(self, **options: Unpack[RunOptions]) -> Session:
        """Return a session of this program; several share nothing but code and what their options have in common, such as a
        SharedBudget or a store. Raises TypeError or ValueError for wrong options, ValueError for a wrong configuration of the
        program, such as a connection without its fields, and for pins that cannot be read, RecordingError for a recording or
        store that is refused, OSError for one that cannot be opened or made, and if the working directory has been removed."""
        return Session(self._linked, options, self._project)

    def _session_of(self, call: StoredCall, options: Options) -> Session:
        """Return a session for one call that is a run of a store. Raises as `session`."""
        return Session(self._linked, options, self._project, call)

    def test(self, filter: str | None = None, **options: Unpack[Options]) -> TestReport:
        """Run the tests whose description contains `filter`, all without it, each in a fresh session with these options, and
        return the report, in which a test that fails is too. Raises TypeError or ValueError for wrong options, TypeError also
        for `emit_mode`, `emit_timeout_ms` and those of recordings; and, if a test is run, ValueError and OSError as `session`
        does, and RuntimeError where an event loop runs."""
        return tested(self._linked, chosen(self._linked, filter or ""), options, self._project, _python_functions)

    def __repr__(self) -> str:
        return f"<Program {self.name}>"


# Sources and images become programs (O-9.39).


def _python_functions() -> PythonFunctions:
    """Return what calls functions of Python in a test, where nothing is bound."""
    from .python_functions import PythonFunctions  # most programs call none

    return PythonFunctions()


def compile(source: str | None = None, *, path: PathLike | None = None, manifest: PathLike | None = None) -> Program:
    """Return the program of a source text, or of the file `path` with the modules of its project. `manifest` is the file to read
    as its `Concerto.toml`; left out, a path has that of its project, if there is one, and a text none.

    Raises CompileError with the errors and warnings that were found; OSError when the file or `manifest` cannot be read;
    TypeError for both or neither of source and path, and for a source that is no str.
    """
    if (source is None) == (path is None):
        raise TypeError("compile() takes a source text or path=…, one of the two")
    if source is not None and not isinstance(source, str):
        raise TypeError(f"compile() takes a source text, not {type(source).__name__}; a file is path=…")
    manifest_of_program = _manifest(manifest)
    if path is None:
        return _program_of(_compiled_text(source or "", manifest_of_program), manifest_of_program)
    return _compiled_path(os.fspath(path), manifest_of_program)[0]


class Asked:
    """What a compilation has read: the content of `files` by their names, None for one that was looked for and is not there, and
    of `libraries` by name the distribution with its version, and such files of it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | None] = {}
        self.libraries: dict[str, tuple[str, dict[str, bytes | None]]] = {}

    def library(self, found: Library) -> Library:
        """Return a library whose files are noted here as they are read."""
        from dataclasses import replace

        _, files = self.libraries.setdefault(found.name, (f"{found.distribution} {found.version}", {}))

        def read(name: str) -> bytes | None:
            content = files[name] = found.read(name)
            return content

        return replace(found, read=read)


def compiled_file(path: str, asked: Asked) -> tuple[Program, str]:
    """Return the program of a source file, and the root folder of its sources; `asked` gets every file of the program that was
    looked for, by its name relative to the root, with its content, None for one that is not there. Raise CompileError and OSError
    as `compile`."""
    return _compiled_path(path, None, asked)


def _program_of(result: Compilation, manifest_of_program: Manifest | None) -> Program:
    diagnostics = _diagnostics(result)
    if result.image is None:
        from ..compiler.diagnostics import render_text

        raise CompileError(diagnostics, render_text([d for d in result.diagnostics.ordered() if d.is_error], result.sources))
    interface = None if result.checked is None else interface_of(result.checked)
    folder, served = (None, None) if manifest_of_program is None else (manifest_of_program.folder, manifest_of_program.serve_keys)
    return Program(load_image(result.image, trust="local"), diagnostics, folder, interface, served)


def _manifest(path: PathLike | None) -> Manifest | None:
    if path is None:
        return None
    from ..compiler.manifest import Manifest

    with open(path, "rb"):  # OSError to the caller, as for the source
        return Manifest(os.fspath(path))


def _compiled_text(source: str, manifest: Manifest | None) -> Compilation:
    from ..compiler.installed import installed_library
    from ..compiler.pipeline import compile_source

    text = source.encode("utf-8", "surrogatepass")
    return compile_source(text, "main.conc", manifest=manifest, find_library=installed_library)


def _compiled_path(path: str, manifest: Manifest | None, asked: Asked | None = None) -> tuple[Program, str]:
    from ..compiler.installed import installed_library
    from ..compiler.pipeline import compile_source
    from ..compiler.project import locate

    with open(path, "rb") as file:
        data = file.read()
    location = locate(path)

    def read(name: str) -> bytes | None:
        content = location.read(name)
        if asked is not None:
            asked.files[name] = content
        return content

    def find(name: str) -> Library:
        library = installed_library(name)
        return library if asked is None else asked.library(library)

    if asked is not None:
        asked.files[location.file] = data
    used = manifest or location.manifest
    return _program_of(compile_source(data, location.file, read=read, manifest=used, find_library=find), used), location.root


def _diagnostics(result: Compilation) -> tuple[Diagnostic, ...]:
    from ..compiler.diagnostics import render_json

    rows = render_json(result.diagnostics, result.sources)
    names = Diagnostic.__dataclass_fields__
    return tuple(Diagnostic(**{name: row[name] for name in names}) for row in rows)


def load(
    image: bytes | PathLike,
    *,
    keys: PathLike | Iterable[PathLike] | None = None,
    pins: str | Iterable[str] | None = None,
    signature: bytes | PathLike | None = None,
) -> Program:
    """Return the program of an image, passed as bytes or as the path of its file. Raises ImageError for what is no image, is
    damaged, or fails verification, and OSError for a file that cannot be read.

    What is given demands: with `keys`, one of these public keys has signed the image (each is the path of a key's file, or its
    text); with `pins`, its content hash is one of these; with both, both. An image of which that does not hold, of an empty
    collection any, is ImageError V005, before anything in it is decoded. `signature` is the content or the path of the signature;
    left out, it is the file beside that of the image with `.minisig` behind its name, and bytes have none. Raises ValueError for
    a text that is no key or hash, and for a signature without keys; ImportError where keys are given and the package
    `cryptography` is not installed."""
    return _loaded(image, _demand(image, keys, pins, signature))


def _loaded(image: bytes | PathLike, demand: Demand | None) -> Program:
    if isinstance(image, bytes):
        data = image
    else:
        with open(image, "rb") as file:
            data = file.read()
    try:
        return Program(load_bytes(data) if demand is None else load_bytes(data, demand.check, demand.level))
    except im.ImageError as refused:
        raise ImageError(refused.code, refused.message) from None


def _demand(
    image: bytes | PathLike,
    keys: PathLike | Iterable[PathLike] | None,
    pins: str | Iterable[str] | None,
    signature: bytes | PathLike | None,
) -> Demand | None:
    if keys is None and pins is None and signature is None:
        return None  # most hosts demand nothing, and load nothing for it
    from ..runtime.trust.levels import demand_of

    return demand_of(pins, keys, signature, None if isinstance(image, bytes) else image)


# The short way to run a program.


def run(
    target: Program | PathLike,
    *,
    keys: PathLike | Iterable[PathLike] | None = None,
    pins: str | Iterable[str] | None = None,
    signature: PathLike | bytes | None = None,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Run `main` of a program, or of a source or image file, in a session of its own, and return how it ended. Failures of the
    program are in the result. `keys`, `pins` and `signature` demand of the file what they demand in `load`: a source is refused
    where they are given. Raises CompileError for a source with errors, ImageError for an image that is refused, OSError for a
    file that cannot be read; TypeError, ValueError, RecordingError or OSError as `Program.session`, RecordingError as
    `Session.run` and `Session.close` too, and ValueError for a program without main; ValueError and ImportError as `load`, and
    TypeError for a demand of a Program, which is loaded already; RuntimeError where an event loop runs, and KeyboardInterrupt
    after Ctrl-C."""
    with _program(target, keys, pins, signature).session(**options) as session:
        return session.run()


async def arun(
    target: Program | PathLike,
    *,
    keys: PathLike | Iterable[PathLike] | None = None,
    pins: str | Iterable[str] | None = None,
    signature: PathLike | bytes | None = None,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Do what `run` does, within a running event loop, and return the same. Raises what it raises, but for RuntimeError about the
    loop and KeyboardInterrupt: Ctrl-C is a matter of whoever runs the loop."""
    async with _program(target, keys, pins, signature).session(**options) as session:
        return await session.arun()


def resume(
    run: str,
    *,
    store: PathLike,
    answers: Mapping[str, Any] | None = None,
    take_over: bool = False,
    image: Program | PathLike | None = None,
    **options: Unpack[Options],
) -> RunResult:
    """Go on with a run of a run store after its process died, or once it has an answer, and return how it ended: with all that
    its journal has it asks nobody again. Arguments and errors are those of `resume_session`, and what `run` of a session
    raises."""
    with resume_session(run, store=store, answers=answers, take_over=take_over, image=image, **options) as session:
        return session.run()


def resume_session(
    run: str,
    *,
    store: PathLike,
    answers: Mapping[str, Any] | None = None,
    take_over: bool = False,
    image: Program | PathLike | None = None,
    **options: Unpack[Options],
) -> Session:
    """Return a session that goes on with a run of a run store, for a host with tools and handlers: what it registers serves what
    the journal does not have, and `run` goes on. `run` is the id of the run or the beginning of it; `answers` has JSON data by
    the keys of effects: for emits that it waits for, and for effects whose outcome is not known. With `take_over` a process that
    may still hold the run is fenced. A run that waits for an answer goes on under the program `image`, a source, an image or a
    Program, if that does all that the run has done and then waits as the run does. Raises RecordingError for a store or run that
    is refused, is over or is held, and for a run that stays with its image; ImageError for an image; CompileError for a source;
    TypeError for an option of recordings; with `image` what `Session.run` raises, since the run is tried under it; else as
    `Program.session`."""
    from .options import refuse_journal
    from .recordings import resumable

    refuse_journal(options, "a run that goes on has the journal that it began with")
    other = None if image is None else _program(image, None, None, None)._linked

    def rehearse(rehearsed: Rehearsed) -> RunResult:
        assert other is not None
        with Session(other, options, None, rehearsed) as session:
            return session.run()

    continued, linked = resumable(run, os.fspath(store), take_over, answers or {}, other, rehearse)
    try:
        return Session(linked, options, None, continued)
    except BaseException:
        continued.claim.close()
        raise


def program_of(target: PathLike) -> Program:
    """Return the program of a source or image file. Raises CompileError, ImageError and OSError as `run`."""
    return _program(target, None, None, None)


def _program(
    target: Program | PathLike,
    keys: PathLike | Iterable[PathLike] | None,
    pins: str | Iterable[str] | None,
    signature: PathLike | bytes | None,
) -> Program:
    if isinstance(target, Program):
        if (keys, pins, signature) != (None, None, None):
            raise TypeError("keys, pins and signature are of a file; a Program gets them where it is loaded, by load()")
        return target
    demand = _demand(target, keys, pins, signature)
    with open(target, "rb") as file:
        # Images are known by their content, whatever the file is called.
        is_image = file.read(len(MAGIC)) == MAGIC
    if is_image:
        return _loaded(target, demand)
    if demand is not None:
        raise ImageError("V005", demand.about_source())
    return compile(path=target)
