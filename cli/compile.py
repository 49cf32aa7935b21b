"""`concerto compile`: the image of a source, written by rename (O-9.14, G-5.3).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`; `write`, which writes a file by rename, to `sign`, `stubs` and `pin`; and `is_device` to `trace_page`. Also prints tokens
or tree (`cli/dump.py`), and notes on memories that keep a provider's prompt cache from working. The program is not run; how an
image is made and encoded is for `compiler/` and `vm/bytecode/`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from ..vm.bytecode.image import ImageError
from . import exits
from .inputs import compilation, display_name, is_refused, read_source, report, report_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ..vm.bytecode.image import Image


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source (.conc), or - for stdin")
    parser.add_argument("-o", dest="output", metavar="OUT", help="the image to write; default FILE with .concb")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--strip", action="store_true", help="leave the source text out of the image")
    parser.add_argument("--emit-tokens", action="store_true", help="print the tokens and stop")
    parser.add_argument("--emit-ast", action="store_true", help="print the tree and stop")
    parser.add_argument("--deny-warnings", action="store_true", help="warnings end the command with 65 too")
    parser.add_argument("--json", action="store_true", help="print diagnostics as JSON on stdout")


def execute(arguments: argparse.Namespace) -> int:
    """Compile a source, and write its image unless `--check` is set; return 0, or 65 when it has errors (or warnings with
    `--deny-warnings`). With `--emit-tokens` or `--emit-ast` only print these, and return 0 or 65. Raise `Exit`: 2 for an output
    that would overwrite a source, 1 for one that cannot be written, 70 for an image that fails verification, and for the source
    66 if it cannot be read, 2 if it is an image or the bytecode of another implementation, 74 if it is a damaged image."""
    output = arguments.output or default_output(arguments.file)
    if output.endswith(".conc") or os.path.realpath(output) == os.path.realpath(arguments.file):
        raise exits.Exit(exits.USAGE, f"{output} would overwrite a source; an image is called .concb")
    data = read_source(arguments.file)
    if arguments.emit_tokens or arguments.emit_ast:
        from .dump import dump

        return dump(display_name(arguments.file), data, tokens=arguments.emit_tokens)
    result = compilation(arguments.file, data)
    if arguments.json:
        report_json([(arguments.file, result)])
    else:
        report(arguments.file, result, quiet=arguments.quiet)
    if is_refused(result, deny_warnings=arguments.deny_warnings):
        return exits.COMPILE_ERRORS
    image = result.image
    assert image is not None
    if arguments.strip:
        image.strip()
    from ..vm.bytecode.encoding import encode
    from ..vm.interp.link import load_image

    try:
        load_image(image)  # the verifier is the compiler's last pass (G-4.1)
    except ImageError as error:
        raise exits.Exit(exits.INTERNAL, f"internal error: the image fails verification: {error}") from None
    if not arguments.check:
        write(output, encode(image))
    if not arguments.quiet and not arguments.json:
        for line in prompt_cache_notes(image):
            print(line, file=sys.stderr)
    return exits.OK


WORTH_A_NOTE = 16  # messages: what is shorter than some thousand tokens, no provider caches


def prompt_cache_notes(image: Image) -> list[str]:
    """Return a line for each memory whose bound, once it is reached, drops the oldest messages with every turn, in a program with
    a model of a provider that bills less for what a request has in common with the one before; no line in any other program.
    Memories whose bounds only a run computes, and those bounded below WORTH_A_NOTE messages, have none; one that is bounded in
    tokens is not below it."""
    if not image.memories:
        return []
    from ..runtime.memory.policy import advice, bound_of
    from ..vm.providers import PROVIDERS

    declared = {c.name: c.fields.get("provider") for c in image.connections}
    rows = [PROVIDERS.get(str(declared.get(model.connection, model.connection))) for model in image.models]
    if not any(row is not None and row.bills_prefixes_less for row in rows):
        return []
    notes = []
    for memory in image.memories:
        if "bounds" in memory.steps or memory.steps.get("made"):
            continue  # only a run knows
        bound, help = bound_of(memory.max_messages, memory.steps), advice(memory.max_messages, memory.steps)
        if help is not None and bound is not None and (bound[0] >= WORTH_A_NOTE or bound[0] == 0):
            what = "nothing of a request but its system message equals the one before, so prompt caches do not help"
            notes.append(f"note: memory {memory.name}: once it is full, {what}; {help}")
    return notes


def default_output(path: str) -> str:
    """Return the path of the image of a source: .concb in place of .conc, behind a path with another ending, for `-` out.concb in
    the working directory."""
    return "out.concb" if path == "-" else path.removesuffix(".conc") + ".concb"


def is_device(path: str) -> bool:
    """Return whether a device or pipe stands at a path: what is renamed to it would take its place."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def write(path: str, data: bytes) -> None:
    """Write all of the file or nothing: a temporary one beside it is renamed. A device or pipe, such as /dev/null, is written to
    and stays. Raise `Exit` (1) for what cannot be written."""
    if is_device(path):
        try:
            with open(path, "wb") as device:
                device.write(data)
        except OSError as error:
            raise exits.Exit(exits.FAILED, f"cannot write {path}: {error.strerror or error}") from None
        return
    # Beside the target, since a rename works within one file system only.
    temporary = os.path.join(os.path.dirname(path), f".{os.getpid()}.tmp")  # the name may be as long as one can be
    try:
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:  # Ctrl-C too
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise exits.Exit(exits.FAILED, f"cannot write {path}: {error.strerror or error}") from None
