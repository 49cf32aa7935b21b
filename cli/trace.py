"""`concerto trace`: look at a recording, as text, as JSON or as a page, and compare it with a program (O-9.22).

Hands on `configure`, `execute`, `words_of` and `hint_of` to `main`. What follows from rows is `cli/trace_rows.py`, the text
`cli/trace_text.py`, the page `cli/trace_page.py`, the comparison `cli/trace_check.py`; what a program adds is
`cli/trace_program.py`.
"""

from __future__ import annotations

import sys

from . import exits
from .run import configure_run, hint_of, words_of
from .trace_source import Recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from .trace_program import Known

__all__ = ("configure", "execute", "hint_of", "words_of")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `trace`."""
    parser.add_argument("recording", metavar="FILE|RUN", help="an effect file, - for one on stdin, or with --store a run")
    parser.add_argument("--store", metavar="PATH", help="the run store that has the run")
    parser.add_argument("--json", action="store_true", help="one array of all rows, with what follows from them")
    kinds = "only rows of this kind, such as model, mcp, tool, emit, print, piece"
    parser.add_argument("--kind", metavar="K", default="", help=kinds)
    parser.add_argument("--effect", metavar="KEY", help="one row whole, as JSON")
    parser.add_argument("--html", metavar="OUT", help="write a page for a browser, which needs nothing else")
    check = "replay it with this program, and print the first difference; takes the flags of run"
    parser.add_argument("--check", metavar="PROGRAM", help=check)
    program = "replay it with this program too, to show lines of the source and what became of memories; takes the flags of run"
    parser.add_argument("--program", metavar="PROGRAM", help=program)
    configure_run(parser)
    parser.usage = "concerto trace FILE [options]\n       concerto trace RUN --store PATH [options]"


def execute(arguments: argparse.Namespace) -> int:
    """Show a recording, or compare it with a program. Return 0, or 1 where the program does something else. Raise `Exit`: 1 for
    an effect that the recording does not have, a page that cannot be written, and where the library of the store's database is
    not installed, 2 for flags that do not fit, 66 for a file that cannot be read, 74 for one that is no recording; as `run` for a
    program."""
    modes = [name for name in ("json", "effect", "html", "check") if getattr(arguments, name)]
    if len(modes) > 1:
        raise exits.Exit(exits.USAGE, f"trace: --{modes[0]} and --{modes[1]}: choose one of them")
    if arguments.kind and modes and modes[0] != "json":
        raise exits.Exit(exits.USAGE, f"trace: --kind chooses rows of the text or of --json, not of --{modes[0]}")
    if arguments.program and (arguments.check or arguments.effect):
        with_it = "check" if arguments.check else "effect"
        raise exits.Exit(exits.USAGE, f"trace: --program adds to the text, --json and --html, not to --{with_it}")
    if arguments.program and arguments.recording == "-":
        raise exits.Exit(exits.USAGE, "trace: --program reads the recording twice; name a file")
    if arguments.check:
        from .trace_check import check

        return check(arguments)
    from ..runtime.journal.rows import JournalRefused

    try:
        return _shown(arguments)
    except JournalRefused as refused:
        sys.stdout.flush()
        raise exits.Exit(exits.FAILED if refused.fails else exits.IMAGE_REJECTED, str(refused)) from None
    except RecursionError:
        raise exits.Exit(exits.IMAGE_REJECTED, f"{arguments.recording}: a row of it is nested too deeply") from None


def _shown(arguments: argparse.Namespace) -> int:
    known = None
    if arguments.program:
        from .trace_program import known_of

        known = known_of(arguments)
    recording = Recording(arguments.recording, arguments.store)
    try:
        if arguments.effect:
            return _show_effect(recording, arguments)
        if arguments.json:
            return _show_json(recording, arguments.kind, known)
        if arguments.html:
            from .trace_page import write_page

            write_page(arguments.html, recording, known)
            return exits.OK
        return _show_text(recording, arguments, known)
    finally:
        recording.close()
        if known is not None:
            known.close()


def _show_text(recording: Recording, arguments: argparse.Namespace, known: Known | None) -> int:
    from .trace_rows import Reading
    from .trace_text import Text

    text, reading = Text(sys.stdout, arguments.kind), Reading(known)
    text.header(recording.header)
    for step in reading.steps(recording):
        text.step(step)
    if not arguments.kind:
        text.end(reading, recording.has_end)
    elif not text.shown and not arguments.quiet:
        there = [*reading.kinds, *(["emit"] if reading.emits else [])]
        print(f"no row is of the kind {arguments.kind}; there are: {', '.join(there) or 'none'}", file=sys.stderr)
    return exits.OK


def _show_json(recording: Recording, kind: str, known: Known | None) -> int:
    """Print one array: the header, the rows, and what they come to."""
    from .trace_rows import Reading

    reading = Reading(known)
    print("[" + _json(recording.header.as_json()), end="")
    for step in reading.steps(recording):
        if not kind or step.kind == kind:
            print(",\n " + _json(step.as_json()), end="")
    print(",\n " + _json({"sums": reading.as_json(), "complete": recording.has_end}) + "]")
    return exits.OK


def _show_effect(recording: Recording, arguments: argparse.Namespace) -> int:
    """Print the last row of an effect key whole."""
    import json

    from ..runtime.journal.rows import EffectRow
    from .trace_rows import Reading, json_of

    found: Any = None
    beneath: dict[str, None] = {}
    for step in Reading().steps(recording):
        if isinstance(step.row, EffectRow):
            if step.row.key == arguments.effect:
                found = step.as_json()
            elif step.effect == arguments.effect and len(beneath) < 50:
                beneath[step.row.key] = None
    if found is None:
        hint = f"; its operations are {', '.join(beneath)}" if beneath else "; the text of `concerto trace` has all keys"
        raise exits.Exit(exits.FAILED, f"trace: no row has the key {arguments.effect}{hint}")
    print(json_of(found, lambda plain: json.dumps(plain, indent=2, allow_nan=False)))
    return exits.OK


def _json(plain: Any) -> str:
    import json

    from .trace_rows import json_of

    return json_of(plain, lambda one: json.dumps(one, allow_nan=False, separators=(",", ":")))
