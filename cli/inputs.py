"""FILE arguments: a source, an image (known by its content), or `-` for source on stdin (section 9.2
of docs/spec/orchestration.md).

Hands on to the verbs, and to `main`, what a file is: `read`, `read_source` and `is_image` for its bytes, `refuse_foreign` for a
verb that reads a file by itself; `load_program` and `program_of` for what runs, `load_image_of` for what is shown, `compilation`,
`compile_or_exit` and `is_refused` for what is compiled; `entry_file` for a command without FILE; `report`, `report_json` and
`error_lines` for diagnostics; `file_namer` and `display_name` for names of files; `grant_of_project` and `project_folder` for
what its manifest says; `find_modules_beside` and `program_folder` for the modules of Python that it calls; `pins_of` and
`pins_path` for pins of MCP servers; `demand_of_flags` for what is demanded of an image, `public_key` and `checker_of` for that,
`rejected` for one that is refused; and `script` and `answers` for the replies and answers of `--offline-script`, with NEVER and
`ScriptedFailure`, which may stand among the answers. What is wrong with a file ends the command: `Exit` with a code of O-9.10.
Every function that takes the path of a FILE and reads it raises what `read` raises. No program is run here.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

from ..vm.bytecode.image import ImageError
from . import exits
from .terminal import use_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..compiler.diagnostics import Diagnostic
    from ..compiler.incremental import CheckCache
    from ..compiler.pipeline import Compilation
    from ..compiler.source import Source
    from ..runtime.access.permissions import Permissions
    from ..runtime.mcp.pins import Pins
    from ..runtime.trust.levels import Demand
    from ..runtime.trust.minisign import PublicKey
    from ..vm.bytecode.image import Image
    from ..vm.interp.link import Program


STDIN = "stdin.conc"  # what positions call source on standard input


def read(path: str) -> bytes:
    """Return the bytes of a file, or of standard input for `-`, which can be read only once. Raise `Exit`: 66 for what cannot be
    read, 2 for the bytecode of another implementation."""
    refuse_foreign(path)
    try:
        if path == "-":
            return _standard_input()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot read {path}: {error.strerror or error}") from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise exits.Exit(exits.NO_INPUT, "cannot read -: standard input is closed")
    return sys.stdin.buffer.read()


def refuse_foreign(path: str) -> None:
    """Raise `Exit` (2) for a path that ends in .conc-ir: the bytecode of the implementation in Rust, which is neither source nor
    image here."""
    if path.endswith(".conc-ir"):
        source = path.removesuffix("-ir")
        raise exits.Exit(
            exits.USAGE,
            f"{path} is the bytecode of another implementation, which cannot be read here; run its source: "
            f"`concerto run {source}`, or write an image of it: `concerto compile {source}`",
        )


def read_source(path: str) -> bytes:
    """Return the bytes of a file that must be a source. Raise `Exit`: as `read`, 2 for an image, 74 for a damaged one."""
    data = read(path)
    if is_image(data):
        # Whatever the file is called: its content says what it is.
        raise exits.Exit(exits.USAGE, f"{path} is an image, not a source")
    refuse_damaged_image(path)
    return data


def is_image(data: bytes) -> bool:
    """Return whether these bytes begin like an image."""
    from ..vm.bytecode.encoding import MAGIC

    return data.startswith(MAGIC)


def refuse_damaged_image(path: str) -> None:
    """Raise `Exit` (74) for a file that is called .concb; the caller has seen that it does not begin like an image. It is no
    source either."""
    if path.endswith(".concb"):
        raise exits.Exit(exits.IMAGE_REJECTED, f"{path}: image rejected: V002: the file is no Concerto image")


def compile_or_exit(path: str, data: bytes, *, quiet: bool, emit: bool = True) -> Compilation:
    """Return the compilation of a source, without image if not `emit`; its diagnostics go to stderr, with `quiet` only errors.
    Raise `Exit` (65) if it has errors."""
    result = compilation(path, data, emit=emit)
    report(path, result, quiet=quiet)
    if result.diagnostics.has_errors:
        raise exits.Exit(exits.COMPILE_ERRORS)
    return result


def compilation(path: str, data: bytes, *, emit: bool = True, cache: CheckCache | None = None) -> Compilation:
    """Compile a source with the modules of its project. The result names files relative to the project root, so that it
    does not depend on where that lies (V-3.4); `file_namer` returns the names for people. Source on stdin has no modules
    beside it. Errors of the source are in the result; without `emit` it has no image, and a cache may know parts of it from
    earlier checks."""
    from ..compiler.installed import installed_library
    from ..compiler.pipeline import compile_source

    if path == "-":
        return compile_source(data, STDIN, emit=emit, cache=cache, find_library=installed_library)
    from ..compiler.project import locate

    location = locate(path)
    return compile_source(
        data, location.file, emit=emit, read=location.read, manifest=location.manifest, cache=cache,
        find_library=installed_library,
    )  # fmt: skip


def entry_file() -> str:
    """Return the source that the manifest of this directory, or of the nearest one above, names, relative to this directory: for
    commands without FILE (O-9.2). Raise `Exit`: 2 without a manifest or an entry in it, 65 for a manifest that gives no entry and
    has errors besides missing keys (E4002), which are told on stderr, 66 for an entry that is no file."""
    from ..compiler.manifest import Manifest
    from ..compiler.manifest_file import find_manifest

    manifest_path = find_manifest(os.getcwd())
    if manifest_path is None:
        raise exits.Exit(exits.USAGE, "no FILE given, and no Concerto.toml here or above; `concerto init .` writes one")
    manifest = Manifest(manifest_path)
    if manifest.entry is None and any(diagnostic.code != "E4002" for diagnostic in manifest.diagnostics.ordered()):
        _report(manifest.diagnostics.ordered(), {manifest.source.name: manifest.source}, lambda _: os.path.relpath(manifest_path))
        raise exits.Exit(exits.COMPILE_ERRORS)
    entry = manifest.entry
    if entry is None:
        raise exits.Exit(exits.USAGE, f"no FILE given, and {os.path.relpath(manifest_path)} names no `entry` under [project]")
    path = os.path.join(os.path.dirname(manifest_path), entry)
    if not os.path.isfile(path):
        message = f"the `entry` of [project] is no file: {os.path.relpath(path)}"
        manifest.report("E4004", ("project", "entry"), message, f"write the path of a source: {_likely(manifest.folder, entry)}")
        _report(manifest.diagnostics.ordered(), {manifest.source.name: manifest.source}, lambda _: os.path.relpath(manifest_path))
        raise exits.Exit(exits.NO_INPUT)
    return os.path.relpath(path)


def _likely(folder: str, entry: str) -> str:
    """Return the line of an entry that exists: the nearest name of the sources beside the one named, at the root and in `src`;
    without any source src/main.conc. Folders that cannot be listed have none."""
    import difflib

    sources: list[str] = []
    # Where sources of a project usually lie.
    for place in {os.path.dirname(entry), "", "src"}:
        with suppress(OSError):
            sources += [os.path.join(place, name) for name in os.listdir(os.path.join(folder, place)) if name.endswith(".conc")]
    sources.sort()
    # Without a cutoff some source is always the nearest.
    near = difflib.get_close_matches(entry, sources, n=1, cutoff=0) or ["src/main.conc"]
    return f'`entry = "{near[0]}"`'


def grant_of_project(permissions: Permissions, path: str) -> None:
    """Add what the manifest of a source grants (O-4.12), says of tools (O-4.20), and grants to libraries (P-3.2). Nothing is
    added for an image, standard input, and a source without a manifest. Raise `Exit` as `read`."""
    if path == "-" or is_image(read(path)):
        return
    from ..compiler.project import locate
    from ..runtime.access.permissions import Permissions

    manifest = locate(path).manifest
    if manifest is None:
        return
    for key, scope in manifest.permissions.items():
        permissions.grant(key, scope)
    permissions.tools.update(manifest.tools)
    for name, granted in manifest.library_permissions.items():
        own = permissions.libraries.setdefault(name, Permissions())
        own.models = own.models and granted.get("models", True) is True
        for key, scope in granted.items():
            if key != "models":
                own.grant(key, scope)


def project_folder(path: str) -> str | None:
    """Return the directory of the manifest of a source; None without a manifest, for an image, and for standard input. Raise
    `Exit` as `read`."""
    if path == "-" or is_image(read(path)):
        return None
    from ..compiler.project import locate

    manifest = locate(path).manifest
    return None if manifest is None else manifest.folder


def program_folder(path: str) -> str:
    """Return the absolute path of the directory where modules of Python beside a program are looked for: that of its manifest,
    else its own; the current one for standard input."""
    if path == "-":
        return os.getcwd()
    return project_folder(path) or os.path.dirname(os.path.abspath(path))


def find_modules_beside(path: str) -> None:
    """Let modules of Python be found in the directory of a program (`program_folder`) before all others, unless Python looks
    there already."""
    folder = program_folder(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)


def pins_of(file: str) -> Pins:
    """Return the pins of a program, from the file at `pins_path`, none without it. Raise `Exit`: as `read`, 66 for pins that
    cannot be read, 2 for a file that holds none."""
    path = pins_path(file)
    if path is None or not os.path.exists(path):
        return {}
    from ..runtime.mcp.pins import PinsRefused, read_pins

    try:
        with open(path, encoding="utf-8-sig") as pins:
            return read_pins(pins.read())
    except (OSError, UnicodeError) as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except PinsRefused as refused:
        raise exits.Exit(exits.USAGE, f"{path}: {refused}") from None


def pins_path(file: str) -> str | None:
    """Return where the pins of a program lie: in the folder of its manifest, without one beside FILE; None for source on standard
    input. Raise `Exit` as `read`."""
    if file == "-":
        return None
    from ..runtime.mcp.pins import FILE

    return os.path.join(project_folder(file) or os.path.dirname(file), FILE)


def report(path: str, result: Compilation, *, quiet: bool) -> None:
    """Write the diagnostics of a compilation to stderr; `quiet` leaves out warnings."""
    visible = [d for d in result.diagnostics.ordered() if d.is_error or not quiet]
    if visible:
        _report(visible, sources_of(result), file_namer(path, result.libraries))


def error_lines(path: str, result: Compilation) -> list[str]:
    """Return the errors of a program, a line each: `FILE:LINE:COL: error[CODE]: MESSAGE`."""
    from ..compiler.diagnostics import render_lines

    errors = [one for one in result.diagnostics.ordered() if one.is_error]
    return render_lines(errors, sources_of(result), named=file_namer(path, result.libraries))


def _report(diagnostics: list[Diagnostic], sources: dict[str, Source], named: Callable[[str], str]) -> None:
    from ..compiler.diagnostics import render_text

    sys.stderr.write(render_text(diagnostics, sources, colour=use_colour(sys.stderr), named=named))


def report_json(results: list[tuple[str, Compilation]]) -> None:
    """Print the diagnostics of all compilations, each with the path of its FILE, as one array on stdout: an object for each, with
    code, severity, message, place and help (O-9.12)."""
    import json

    from ..compiler.diagnostics import render_json

    rows = [row for path, r in results for row in render_json(r.diagnostics, sources_of(r), named=file_namer(path, r.libraries))]
    print(json.dumps(rows, ensure_ascii=False))


def is_refused(result: Compilation, *, deny_warnings: bool) -> bool:
    """Return whether a compilation ends the command with 65: it has errors, or with `deny_warnings` any diagnostic."""
    return result.diagnostics.has_errors or (deny_warnings and bool(result.diagnostics.found))


def sources_of(result: Compilation) -> dict[str, Source]:
    """Return the sources of a compilation by the names that its diagnostics have for them."""
    return result.sources


def display_name(path: str) -> str:
    """Return the name that positions have for a file that is read alone: its path relative to the working directory, STDIN for
    `-`."""
    return STDIN if path == "-" else os.path.relpath(path)


def file_namer(path: str, libraries: Iterable[str]) -> Callable[[str], str]:
    """Return what names the files of the program that FILE is the root of: relative to the working directory, so that a terminal
    finds them (O-9.12). Files of the `libraries` with these names are called `lib/NAME/…` everywhere (P-3.4). An image knows only
    names relative to a root that may not exist here; they stay as they are, as do those of stdin. Raise `Exit` as `read`."""
    if path == "-" or is_image(read(path)):
        return str
    from ..compiler.libraries import library_path
    from ..compiler.manifest_file import NAME
    from ..compiler.project import locate

    location = locate(path)
    beside = tuple(library_path(library) + "/" for library in libraries)

    def relative(name: str) -> str:
        if name.startswith(beside):
            return name
        # The manifest may stand above the root of the sources.
        folder = location.manifest.folder if name == NAME and location.manifest is not None else location.root
        return os.path.relpath(os.path.join(folder, *name.split("/")))

    return relative


def load_program(path: str, *, quiet: bool = False, demand: Demand | None = None) -> Program:
    """Return the program of a source or image, verified and linked; diagnostics of a source go to stderr. With a demand only an
    image of which it holds is loaded. Raise `Exit`: as `read`, 65 for a source with errors, 74 for an image that is refused and a
    source where an image is demanded, 1 where a signature is demanded and the package that verifies is not installed."""
    return program_of(path, read(path), quiet=quiet, demand=demand)


def program_of(path: str, data: bytes, *, quiet: bool = False, demand: Demand | None = None) -> Program:
    """Return what `load_program` returns, of the bytes that `read` has returned. Raise `Exit` as it does; as `read` only where
    there are diagnostics, whose files are looked at then."""
    from ..vm.interp.link import load_bytes, load_image

    try:
        if is_image(data):
            return load_bytes(data) if demand is None else load_bytes(data, checker_of(demand), demand.level)
        refuse_damaged_image(path)
        if demand is not None:
            raise ImageError("V005", demand.about_source())
        image = compile_or_exit(path, data, quiet=quiet).image
        assert image is not None
        return load_image(image, trust="local")
    except ImageError as error:
        raise rejected(path, error) from None


def rejected(path: str, error: ImageError) -> exits.Exit:
    """Return what ends the command (74) for an image that is refused."""
    return exits.Exit(exits.IMAGE_REJECTED, f"{path}: image rejected: {error.code}: {error.message}")


def public_key(word: str) -> PublicKey:
    """Return a public key: `word` is the path of its file, or its text. Raise `Exit`: 66 for a file that cannot be read, 2 for
    what is no key."""
    from ..runtime.trust.levels import named_key

    try:
        return named_key(word)
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot read {word}: {error.strerror or error}") from None
    except ValueError as refused:
        raise exits.Exit(exits.USAGE, str(refused)) from None


def demand_of_flags(arguments: argparse.Namespace) -> Demand | None:
    """Return what `--trust-key` and `--pin` demand of the FILE, None without them. Raise `Exit` as `public_key`."""
    if not arguments.trust_key and not arguments.pin:
        return None
    from ..runtime.trust.levels import Demand
    from ..runtime.trust.minisign import SUFFIX

    keys = [public_key(word) for word in arguments.trust_key] or None
    return Demand(frozenset(arguments.pin) or None, keys, arguments.file + SUFFIX)


def checker_of(demand: Demand) -> Callable[[bytes], None]:
    """Return what checks the bytes of an image: it raises ImageError (V005) for one of which the demand does not hold, and `Exit`
    (1) where the package that verifies is not installed."""
    from ..runtime.trust.minisign import LibraryMissing

    def check(data: bytes) -> None:
        try:
            demand.check(data)
        except LibraryMissing as missing:
            raise exits.Exit(exits.FAILED, str(missing)) from None

    return check


def load_image_of(path: str, *, quiet: bool = False) -> tuple[Image, bytes]:
    """Return the image of a source or image file, verified, and its bytes. Raise `Exit` as `load_program`."""
    from ..vm.bytecode.encoding import decode, encode
    from ..vm.interp.link import load_image

    data = read(path)
    try:
        if is_image(data):
            image = decode(data)
        else:
            refuse_damaged_image(path)
            compiled_image = compile_or_exit(path, data, quiet=quiet).image
            assert compiled_image is not None
            image, data = compiled_image, encode(compiled_image)
        load_image(image)
    except ImageError as error:
        raise rejected(path, error) from None
    return image, data


# The replies of `--offline-script FILE`.

_COMMENT = re.compile(r"^[ \t]*// reply(?: (\w+))?: (.*)$", re.MULTILINE)
_AFTER = re.compile(r"(.*\S)\s+after=(\d+)(ms|s)")
_FAULTS = {"429": "rate_limit", "401": "auth", "403": "auth", "404": "not_found", "408": "timeout"}
FORM = 'write `// reply: text "…"`, `text {…}`, `stream "…" "…"`, `call T__m {…}` or `fault 500`, with ` after=20ms` behind it'


def script(path: str) -> list[Any]:
    """Return the replies of a script in order: a JSON array, or a program (a file called .conc) whose comments `// reply: …` hold
    them (O-1.280). Raise `Exit`: as `read`, and 2 for what is wrong with them."""
    text = read(path).decode("utf-8-sig", "replace")
    from ..runtime.errors import ConfigFailure
    from ..runtime.providers.offline import Script

    replies = of_comments(path, text) if path.endswith(".conc") else of_json(path, text)
    try:
        Script(replies)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{path}: {failure.message}") from None
    return replies


def of_json(path: str, text: str) -> list[Any]:
    """Return the replies of a JSON array, which `text`, the content of `path`, holds. Raise `Exit` (2) for any other text."""
    from ..runtime.schema.lenient_json import JsonRefused, parse_json

    try:
        replies = parse_json(text)
    except JsonRefused as refused:
        raise exits.Exit(exits.USAGE, f"{path}: not a JSON array of replies: {refused}") from None
    if not isinstance(replies, list):
        raise exits.Exit(exits.USAGE, f"{path}: a script is a JSON array of replies")
    return replies


def of_comments(path: str, text: str) -> list[Any]:
    """Return the replies in the comments of `text`, the program in `path`. Raise `Exit` (2) for a comment that is no reply or
    names a model, and for a program without replies and answers."""
    replies = []
    for comment in _COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        # Scripts of other tools name a model there; a run has one order of replies for all models.
        if comment[1]:
            raise exits.Exit(exits.USAGE, f"{path}:{line}: replies of one model cannot be scripted: write `// reply: …` in order")
        try:
            replies.append(_reply(comment[2].strip()))
        except ValueError:
            raise exits.Exit(exits.USAGE, f"{path}:{line}: {comment[2]!r} is no reply: {FORM}") from None
    if not replies and not _ANSWER.search(text):
        raise exits.Exit(exits.USAGE, f"{path}: it has no replies: {FORM}")
    return replies


_ANSWER = re.compile(r"^[ \t]*// answer: (.*)$", re.MULTILINE)
_FAILURE = re.compile(r'fault (?:([a-z][a-z-]*)(?: +(".*"))?|(".*"))')
ANSWER_FORM = 'write `// answer: CHANNEL JSON`, `CHANNEL none`, `CHANNEL fault no-listener` or `CHANNEL fault "text"`'
NEVER = object()  # the answer that does not come


def answers(path: str) -> dict[str, list[Any]]:
    """Return the answers to awaited emits in the comments of a program, by channel and in order (O-5.39): JSON values, NEVER, and
    exceptions, NoListener or a ScriptedFailure. Raise `Exit`: as `read`, and 2 for a comment that is no answer."""
    text = read(path).decode("utf-8-sig", "replace")
    by_channel: dict[str, list[Any]] = {}
    for comment in _ANSWER.finditer(text):
        channel, _, form = comment[1].strip().partition(" ")
        try:
            by_channel.setdefault(channel, []).append(_answer(form.strip()))
        except ValueError:
            line = text.count("\n", 0, comment.start()) + 1
            raise exits.Exit(exits.USAGE, f"{path}:{line}: {comment[1].strip()!r} is no answer: {ANSWER_FORM}") from None
    return by_channel


def _answer(form: str) -> Any:
    """Return what the text behind the channel of a comment means, in a form of `answers`. Raise ValueError for what is none."""
    if form == "none":
        return NEVER
    if not form.startswith("fault "):
        return _json(form)
    failure = _FAILURE.fullmatch(form)
    if failure is None:
        raise ValueError
    if failure[1] == "no-listener":
        from ..runtime.host import NoListener

        return NoListener()
    text = failure[2] or failure[3]
    return ScriptedFailure(_json(text) if text else failure[1])


def _json(text: str) -> Any:
    """Return the value of a text of JSON, by the rules for text from outside. Raise ValueError for what is none."""
    from ..runtime.schema.lenient_json import JsonRefused, parse_json

    try:
        return parse_json(text)
    except JsonRefused as refused:
        raise ValueError(str(refused)) from None


class ScriptedFailure(Exception):
    """What a scripted handler fails with; its text is that of the comment."""


def _reply(text: str) -> dict[str, Any]:
    """Return the reply that the text of a comment means, in the form of the JSON script. Raise ValueError for what is none."""
    delayed = _AFTER.fullmatch(text)
    reply: dict[str, Any] = {}
    if delayed is not None:
        text, reply["delay_ms"] = delayed[1], int(delayed[2]) * (1000 if delayed[3] == "s" else 1)
    word, _, rest = text.partition(" ")
    if word == "fault":
        return {**reply, "error": _FAULTS.get(rest) or ("server" if rest[:1] == "5" else rest)}
    import json

    if word == "text":
        try:  # what a model says is no JSON for a program only: a script may have it
            value = json.loads(rest)
        except RecursionError:
            raise ValueError("nested too deep") from None
        return {**reply, "text": value if isinstance(value, str) else rest}
    if word == "call":
        return {**reply, "tool_calls": _calls(rest)}
    if word != "stream":
        raise ValueError
    return {**reply, "chunks": _json(f"[{_between(rest)}]")}


def _calls(text: str) -> list[dict[str, Any]]:
    """Return the calls of tools that `T__m {…} & call U__n {…}` means. Raise ValueError for another text."""
    import json

    calls = []
    while True:
        tool, _, text = text.partition(" ")
        text = text.lstrip()
        try:
            _, end = json.JSONDecoder().raw_decode(text)
        except RecursionError:
            raise ValueError("nested too deep") from None
        calls.append({"tool": tool, "arguments": _json(text[:end])})
        text = text[end:].strip()
        if not text:
            return calls
        if not text.startswith("& "):
            raise ValueError
        text = text.removeprefix("& ").lstrip().removeprefix("call ")


def _between(rest: str) -> str:
    """Return the strings of a text with commas between them."""
    return re.sub(r'("(?:\\.|[^"\\])*")\s+(?=")', r"\1, ", rest)
