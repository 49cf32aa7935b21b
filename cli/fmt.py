"""`concerto fmt`: the canonical layout, in place (O-9.17, docs/spec/format.md). Files are replaced by rename (G-5.3).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. The layout itself is made by `compiler/format`; here files are read, compared, listed and written. Nothing is checked but
that the source parses.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress

from . import exits
from .inputs import display_name, read_source
from .terminal import use_colour

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ..compiler.diagnostics import Diagnostic
    from ..compiler.source import Source


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="sources (.conc), or - to format stdin to stdout")
    parser.add_argument("--check", action="store_true", help="write nothing; list the files that would change and exit 1")
    parser.add_argument("--diff", action="store_true", help="write nothing; print the changes as a unified diff")


def execute(arguments: argparse.Namespace) -> int:
    """Format the files; return 65 if one does not parse, else 1 if `--check` found one that would change, else 0. Raises Exit
    with 66 for a file that cannot be read, 2 for an image or the bytecode of another implementation, 74 for a damaged image, and
    1 for a file that cannot be written; the files after it are not formatted then."""
    code = exits.OK
    for path in arguments.files:
        data = read_source(path)
        text = canonical_text(path, data)
        if text is None:
            code = exits.COMPILE_ERRORS
        elif deliver(path, data, text, arguments) and arguments.check:
            code = code or exits.FAILED
    return code


def canonical_text(path: str, data: bytes) -> str | None:
    """Return the canonical text of a source, or None for one that does not parse, whose diagnostics are then on stderr."""
    from ..compiler.diagnostics import Diagnostics
    from ..compiler.format import format_data
    from ..compiler.source import Source

    diagnostics = Diagnostics()
    result = format_data(display_name(path), data, diagnostics)
    if result.text is None:
        # a file that is no UTF-8 has no source; its diagnostic points into the text as far as it can be read
        report(diagnostics.ordered(), result.source or Source(display_name(path), data.decode("utf-8", "replace")))
    return result.text


def report(diagnostics: list[Diagnostic], source: Source) -> None:
    """Write diagnostics to stderr."""
    from ..compiler.diagnostics import render_text

    sys.stderr.write(render_text(diagnostics, {source.name: source}, colour=use_colour(sys.stderr)))


def deliver(path: str, data: bytes, text: str, arguments: argparse.Namespace) -> bool:
    """Write the canonical `text` of a file that holds `data` to where the flags say: `--check` prints the path of a file that
    differs, `--diff` the changes; without either the file is replaced, or `-` printed. Return whether the text differs from what
    the file holds. Raises Exit with FAILED when the file cannot be written."""
    new = text.encode()
    if arguments.check and new != data:
        print(path, flush=True)
    if arguments.diff:
        write_out("".join(difference(path, data.decode("utf-8-sig"), text)).encode())
    elif path == "-" and not arguments.check:
        write_out(new)
    elif new != data and not arguments.check:
        replace(path, new)
    return new != data


def write_out(data: bytes) -> None:
    """Write bytes to stdout, since sources are UTF-8 whatever the terminal's encoding is."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def difference(path: str, before: str, after: str) -> Iterator[str]:
    """Yield the lines of the unified diff of two texts, each with its line end; `path` names them in its head. Equal texts have
    no lines."""
    from difflib import unified_diff
    from io import StringIO

    # only LF ends a line (L-1.1.4); `splitlines` knows more line ends
    old, new = (list(StringIO(text, newline="\n")) for text in (before, after))
    for row in unified_diff(old, new, path, f"{path} (formatted)"):
        yield row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"


def replace(path: str, data: bytes) -> None:
    """Replace the content of a file by `data`, whole or not at all. A link stays, and what it points to is replaced; the
    permissions of the file stay. Raises Exit with FAILED when it cannot be written."""
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".{os.getpid()}.tmp")  # the name may be as long as one can be
    try:
        try:
            with open(temporary, "wb") as file:
                file.write(data)
            shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:  # Ctrl-C too
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise exits.Exit(exits.FAILED, f"cannot write {path}: {error.strerror or error}") from None
