"""`concerto resume`: go on with a run of a store after its process died, or with one that has got its answer (O-9.23, O-9.35).

Hands on `configure`, `execute`, `words_of` and `hint_of` to `main`. The image is that of the store, unless `--image` names
another; the settings are those the run was started with, and flags of this command line go over them. No run is begun here, and
what is asked again after a death is decided in `runtime/journal/`.
"""

from __future__ import annotations

import sys
import time

from . import exits
from .inputs import load_program
from .journals import (
    KEPT,
    add_store_flags,
    close_quietly,
    open_store,
    permission_names,
    refusing,
    run_with_journal,
    settings_of,
)
from .run import (
    code_cache,
    configure_run,
    finish,
    hint_of,
    host_of,
    limits_of,
    run_session,
    system_input,
    telemetry,
    words_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from ..runtime.host import Host
    from ..runtime.journal.journal import Journal
    from ..runtime.journal.run_store import Claim, RunRow, RunStore
    from ..runtime.session.session import Outcome, Session
    from ..vm.interp.link import Program

__all__ = ["configure", "execute", "hint_of", "words_of"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `resume`."""
    parser.add_argument("run", metavar="ID", help="the id of a run, or its beginning")
    add_store_flags(parser, "the run store (required)")
    answer = "answer the effect that the run waits for, or may not repeat"
    parser.add_argument("--answer", action="append", default=[], metavar="KEY=JSON", help=answer)
    parser.add_argument("--take-over", action="store_true", help="go on although another process may still hold the run")
    image = "go on under this program, a source or image, if it does all that the run has done and then waits as the run does"
    parser.add_argument("--image", metavar="FILE", help=image)
    configure_run(parser)
    parser.add_argument("--debug", action="store_true", help="show the locals of each frame of a stack trace")
    parser.add_argument("--no-code-cache", action="store_true", help="neither read nor keep translated code of earlier runs")


def execute(arguments: argparse.Namespace) -> int:
    """Go on with a run. Return the exit code of O-9.11, of a run that is over that of its end. Raise `Exit`: 2 for flags and
    answers that do not fit, and for a wrong configuration, 74 for a store or run that is refused, 75 for a run that waits on, 1
    for a run that another process holds or takes over and where the library of the store's database is not installed, as
    `inputs.load_program` for `--image`, and as `run.host_of` for the files of flags. Raise KeyboardInterrupt after Ctrl-C."""
    if arguments.store is None:
        raise exits.Exit(exits.USAGE, "resume: --store names the run store")
    from ..runtime.journal.recording import require_run_of_main

    answers = dict(map(_answer, arguments.answer))
    store: RunStore = refusing(arguments.store, lambda: open_store(arguments, must_exist=True))
    row: RunRow = refusing(arguments.store, lambda: store.run(arguments.run))
    refusing(arguments.store, lambda: require_run_of_main(row))
    if row.outcome is not None and arguments.image is not None:
        text = f"the run {row.id} is over ({row.outcome.outcome}); only a run that waits goes on under another program"
        raise exits.Exit(exits.IMAGE_REJECTED, text)
    if row.outcome is not None:
        return _ended(row)
    refusing(arguments.store, lambda: _with_kept(arguments, store, row))
    if arguments.image is None:
        program = _program(store, row)
    else:
        program = load_program(arguments.image, quiet=True)
        _rehearse(arguments, store, row, program)
    from ..runtime.journal.recording import stored

    claim: Claim = refusing(arguments.store, lambda: store.claim(row.id, take_over=arguments.take_over))
    forms = {key: {"json": value} for key, value in answers.items()}

    def journal_of(host: Host) -> Journal:
        if arguments.image is not None:
            from ..runtime.journal.rehearsal import move

            move(store, claim, row, program)
            print(f"the run {row.id} goes on under {arguments.image}", file=sys.stderr)
        host.telemetry = telemetry(arguments)
        return stored(store, claim, host.now, host.wall, forms)

    try:
        session = _session(arguments, row, program, journal_of)
    except BaseException:
        claim.close()  # nobody has to wait for the lease of a run that did not begin
        raise
    session.machine.keeps_locals = arguments.debug
    try:
        outcome = run_with_journal(session, lambda: run_session(session, **limits_of(arguments)))
    finally:
        _tell_unused(session.journal, answers)
    sys.stdout.flush()
    return finish(arguments.file or "-", outcome, session)


def _tell_unused(journal: Journal | None, answers: dict[str, Any]) -> None:
    """Say on stderr which answers of the command line the run has not taken."""
    for key in answers:
        if journal is not None and key in journal.answers:
            why = "it has not come to such an effect, or has its outcome already"
            print(f"warning: the run did not take the answer to {key}: {why}", file=sys.stderr)


def _session(arguments: argparse.Namespace, row: RunRow, program: Program, journal_of: Callable[[Host], Journal]) -> Session:
    """Return a session for a run, with the journal that `journal_of` makes. Raise `Exit`: 2 for a wrong configuration, as
    `refusing` where the journal is refused."""
    from ..runtime.errors import ConfigFailure
    from ..runtime.session.session import Session

    try:
        host = host_of(arguments, arguments.file or "-", program=program)
        host.code_cache, host.stdin = code_cache(arguments), system_input
        host.args, host.offline = row.header.args, row.header.offline
        host.journal = refusing(arguments.store, lambda: journal_of(host))
        return Session(program, host)
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None


def _rehearse(arguments: argparse.Namespace, store: RunStore, row: RunRow, program: Program) -> None:
    """Raise `Exit` (74) unless a run that waits can go on under another program."""
    from ..runtime.journal.rehearsal import Rehearsal, require_same_run

    session = _session(arguments, row, program, lambda host: Rehearsal(store, row, host.now, host.wall))

    def rehearsed() -> Outcome:
        return run_session(session, **limits_of(arguments))

    try:
        refusing(arguments.store, lambda: require_same_run(row, rehearsed))
    finally:
        if session.journal is not None:
            close_quietly(session.journal)


def _answer(word: str) -> tuple[str, Any]:
    from ..runtime.schema.lenient_json import JsonRefused, parse_json

    key, equals, text = word.partition("=")
    try:
        return key.strip(), parse_json(text)
    except JsonRefused as refused:
        why = f"the part behind `=` is no JSON ({refused})" if equals else "there is no `=`"
        raise exits.Exit(exits.USAGE, f"--answer {word}: {why}; write KEY=JSON, such as 0:5/approve.1=true") from None


def _program(store: RunStore, row: RunRow) -> Program:
    """Return the program of a run, from its image in the store. Raise `Exit` (74) where it is refused."""
    from ..runtime.journal.recording import require_image
    from ..vm.bytecode.image import ImageError
    from ..vm.interp.link import load_bytes

    content = refusing(store.name, lambda: store.image(row.header.image))
    try:
        program = load_bytes(content)
        program.trust = row.header.trust  # what the image was when the run began, by its hash
    except ImageError as error:
        raise exits.Exit(exits.IMAGE_REJECTED, f"{store.name}: the image of the run {row.id} is refused: {error}") from None
    refusing(store.name, lambda: require_image(row.header, program, f"{store.name}: the run {row.id}"))
    return program


def _with_kept(arguments: argparse.Namespace, store: RunStore, row: RunRow) -> None:
    """Set what the command line leaves out to what the run was started with. Raise JournalRefused for what no command line
    sets."""
    from ..runtime.journal.rows import JournalRefused

    try:
        kept = settings_of(row.options, (*KEPT, *permission_names(arguments)))
    except JournalRefused as refused:
        raise JournalRefused(f"{store.name}: the run {row.id} {refused}") from None
    arguments.file = kept.pop("file", None)
    for name, value in kept.items():
        if getattr(arguments, name, None) in (None, False, [], "both", "text"):
            scopes = [tuple(one) if isinstance(one, list) else one for one in value] if name.startswith("allow_") else value
            setattr(arguments, name, scopes)
    arguments.program_arguments = []


def _ended(row: RunRow) -> int:
    """Print the outcome of a run that is over, and return its exit code."""
    outcome = row.outcome
    assert outcome is not None
    if outcome.outcome == "cancelled":
        print(f"the run {row.id} was cancelled", file=sys.stderr)
        return exits.INTERRUPTED
    if outcome.outcome == "ok":
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.changed))
        print(f"the run {row.id} ended well ({when})", file=sys.stderr)
        return exits.OK
    text = f"panic[{outcome.code}]: {outcome.message}" if outcome.outcome == "panic" else f"error: {outcome.message}"
    print(text, file=sys.stderr)
    return 77 if outcome.code in ("P407", "PermissionDenied") else exits.FAILED
