"""The journal of a run on the command line: recorded into a file, given again from one, or kept in a store that outlives the
process (O-9.33 to O-9.36).

Hands on `add_journal_flags`, `journal_of`, `take_back` and `is_replay` to `run`, `run_with_journal` to `run`, `resume` and
`dialogue`, `add_store_flags`, `open_store` and `refusing` to `resume` and `runs`, the last to `trace_check`, `trace_program` and
`view` too, KEPT, `settings_of`, `permission_names` and `close_quietly` to `resume`, `told_of` to `runs`. What is recorded, and
given again, is decided in `runtime/journal/`; how a program runs is for `run.py` and the runtime.
"""

from __future__ import annotations

import json
import os
import sys
import time

from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..runtime.host import Host
    from ..runtime.journal.journal import Journal
    from ..runtime.journal.run_store import RunRow, RunStore
    from ..runtime.session.session import Outcome
    from ..vm.interp.link import Program


def add_journal_flags(parser: argparse.ArgumentParser) -> None:
    """Describe the flags by which a run is recorded, given again, or kept."""
    group = parser.add_argument_group("recordings and durable runs", "every outcome from outside, in order")
    group.add_argument("--record", metavar="FILE", help="write an effect file, which must not be there yet")
    group.add_argument("--replay", metavar="FILE", help="answer every effect from an effect file: no network, no keys")
    group.add_argument("--extend", action="store_true", help="with --replay: perform and append what comes behind its end")
    faults = "with --replay: a JSON object of effect keys of requests and the failure before each, such as 429 or timeout"
    group.add_argument("--faults", metavar="FILE", help=faults)
    redact = "leave out what stands at this path of a row, such as request.messages.*.content"
    group.add_argument("--redact", action="append", default=[], metavar="PATH", help=redact)
    add_store_flags(group, "keep the run there, so that `concerto resume` goes on with it after a crash")


def add_store_flags(parser: Any, help: str) -> None:
    """Describe the flags that name a run store."""
    parser.add_argument("--store", metavar="PATH", help=f"{help}; a path, or postgres://USER@HOST/DATABASE")
    full = "survive a power failure too: each commit waits for the disk"
    parser.add_argument("--sync-full", action="store_true", help=full)


def is_replay(arguments: argparse.Namespace) -> bool:
    """Return whether nothing outside is reached: every outcome comes from a file."""
    return getattr(arguments, "replay", None) is not None and not arguments.extend


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < float("inf")


def _is_grant(value: Any) -> bool:
    """Whether a value is what a flag that grants permissions holds: everything, and scopes, of hosts with a port."""

    def is_scope(scope: Any) -> bool:
        return scope is True or _is_text(scope) or (isinstance(scope, list) and bool(scope) and _is_text(scope[0]))

    return isinstance(value, list) and all(map(is_scope, value))


# What of a command line a run of a store keeps, so that `resume` goes on with the same settings, and what each may be.
KEPT: dict[str, Callable[[Any], bool]] = {
    "offline": lambda value: isinstance(value, bool),
    "offline_script": _is_text,
    "env_file": _is_text,
    "max_steps": _is_count,
    "max_seconds": _is_amount,
    "max_tokens": _is_count,
    "max_cost": _is_amount,
    "max_model_calls": _is_count,
    "tier": lambda value: value in ("interp", "both"),
    "seed": lambda value: type(value) is int,
    "emit_format": lambda value: value in ("text", "json"),
    "verbose": lambda value: isinstance(value, bool),
    "disable_tool": _is_texts,
    "redact": _is_texts,
}


def kept_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a run that its store keeps, with paths that hold from anywhere."""
    options = {name: getattr(arguments, name) for name in (*KEPT, *permission_names(arguments))}
    for name in ("offline_script", "env_file"):
        options[name] = None if options[name] is None else os.path.abspath(options[name])
    file = arguments.file
    options["file"] = file if file in (None, "-") else os.path.abspath(file)
    options["folder"] = os.getcwd()
    return options


def settings_of(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the settings that a store has kept of a run, without those that were not set. Raise JournalRefused for one that no
    command line sets."""
    from ..runtime.journal.rows import JournalRefused

    kept = {name: options[name] for name in (*names, "file") if options.get(name) is not None}
    for name, value in kept.items():
        fits = KEPT.get(name, _is_text if name == "file" else _is_grant)
        if not fits(value):
            raise JournalRefused(f"was kept with a setting {name} that no run has")
    return kept


def permission_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the flags that grant permissions."""
    return [name for name in vars(arguments) if name.startswith("allow_")]


def journal_of(arguments: argparse.Namespace, program: Program, host: Host) -> Journal | None:
    """Return the journal that the flags ask for, None where they ask for none. Raise `Exit`: 2 for flags that do not fit, and as
    `refusing` and `faults_of`."""
    asked = [name for name in ("record", "replay", "store") if getattr(arguments, name)]
    if len(asked) > 1:
        raise exits.Exit(exits.USAGE, f"--{asked[0]} and --{asked[1]}: a run has one journal; choose one of them")
    if arguments.extend and not arguments.replay:
        raise exits.Exit(exits.USAGE, "--extend goes on with the recording that --replay names")
    if arguments.faults and not arguments.replay:
        raise exits.Exit(exits.USAGE, "--faults puts failures into the recording that --replay names")
    if not asked:
        return None
    from ..runtime.journal.recording import new_header, player, recorder

    real_time, real_wall = host.now, host.wall
    path = getattr(arguments, asked[0])

    def made() -> Journal:
        if arguments.replay:
            return player(path, program, arguments.extend, real_time, real_wall, faults_of(arguments.faults))
        header = new_header(program, arguments.program_arguments, arguments.seed, real_wall(), host.offline, os.urandom)
        if arguments.record:
            return recorder(path, header, real_time, real_wall, arguments.redact)
        from ..runtime.journal.journal import Journal
        from ..vm.bytecode.encoding import encode

        store = open_store(arguments)
        claim = store.begin(header, encode(program.image), kept_options(arguments))
        print(f"run: {header.run}", file=sys.stderr, flush=True)
        return Journal(header, sink=claim, real_time=real_time, real_wall=real_wall, redact=arguments.redact)

    journal: Journal = refusing(path, made)
    host.args, host.offline = journal.header.args, journal.header.offline
    return journal


def take_back(arguments: argparse.Namespace, journal: Journal | None) -> None:
    """Give up the journal of a run that could not begin, None for none: a new recording is removed, a run of a store is
    cancelled."""
    from contextlib import suppress

    if journal is None:
        return
    if arguments.store:
        from ..runtime.journal.rows import JournalRefused
        from ..runtime.journal.run_store import Claim

        assert isinstance(journal.sink, Claim), "a run of a store has a claim"
        with suppress(JournalRefused):
            journal.sink.store.cancel(journal.header.run)
    close_quietly(journal)
    if arguments.record:
        with suppress(OSError):
            os.unlink(arguments.record)


def faults_of(path: str | None) -> dict[str, str]:
    """Return the failures of a fault overlay, by effect key. Raise `Exit`: 66 for a file that cannot be read, 2 for one that is
    no object of texts."""
    if path is None:
        return {}
    from .inputs import read

    try:
        faults = json.loads(read(path))
    except (ValueError, RecursionError):
        faults = None
    from ..runtime.journal.border import is_fault
    from ..vm.values.errors import FAULTS

    if not isinstance(faults, dict) or not all(isinstance(name, str) and is_fault(name) for name in faults.values()):
        form, names = '{"0:1/1": "429", "0:3/1": "timeout"}', ", ".join(FAULTS)
        why = f"a fault overlay is a JSON object such as {form}; failures are statuses and {names}"
        raise exits.Exit(exits.USAGE, f"{path}: {why}")
    return faults


def open_store(arguments: argparse.Namespace, *, must_exist: bool = False) -> RunStore:
    """Return the run store that the flags name, which is made if it is not there. Raises JournalRefused as `RunStore`, with
    `must_exist` also for one that is not there."""
    from ..runtime.journal.run_store import RunStore

    return RunStore(arguments.store, time.time, full=arguments.sync_full, must_exist=must_exist)


def refusing(path: str, work: Callable[[], Any]) -> Any:
    """Return what `work` returns. Raise `Exit`: 66 for a file that cannot be read or made, 74 for one that is refused, 1 for a
    run that another process holds, or a library that is not installed."""
    from ..runtime.journal.rows import JournalRefused

    try:
        return work()
    except BrokenPipeError:  # who reads what is printed has seen enough
        raise
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot use {_shown(path)}: {error.strerror or error}") from None
    except JournalRefused as refused:
        code = exits.FAILED if refused.fails else exits.IMAGE_REJECTED
        raise exits.Exit(code, str(refused)) from None


def _shown(path: str) -> str:
    """Return what messages call a file or store: of a URL without its password."""
    from ..runtime.journal.run_store import shown

    return shown(path)


def run_with_journal(session: Any, run: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of a run, and write it to its journal. Raise `Exit`: 75 for a run that waits for an answer, 1 for one
    that another process has taken over, whose recording has more than the run asked for, or whose store failed, 2 for an answer
    that is not of the type that the program expects; raise KeyboardInterrupt for one that Ctrl-C ended."""
    from ..runtime.journal.border import AnswerRefused
    from ..runtime.journal.journal import Fenced, Suspended
    from ..runtime.journal.recording import end_of
    from ..runtime.journal.rows import JournalRefused

    journal: Journal = session.journal
    try:
        try:
            outcome = run()
            unused = journal.unused() if outcome.panic is None else None
            journal.close(end_of(outcome, session.redactor.clean))
        except Suspended:
            journal.close(None)
            raise exits.Exit(exits.WAITING, waiting_text(journal)) from None
        except KeyboardInterrupt:
            journal.close(None if journal.sink is not None and journal.sink.parks else end_of(None, session.redactor.clean))
            raise
    except (Fenced, JournalRefused) as refused:  # of what closes it, too
        close_quietly(journal)
        code = exits.USAGE if isinstance(refused, AnswerRefused) else exits.FAILED
        raise exits.Exit(code, str(refused)) from None
    except BaseException:
        close_quietly(journal)
        raise
    if unused is not None:
        more = f" (it ended with the error: {session.redactor.clean(outcome.message)})" if outcome.error is not None else ""
        raise exits.Exit(exits.FAILED, f"panic[P406]: {unused}{more}")
    return outcome


def close_quietly(journal: Journal) -> None:
    """Close a journal whose run has ended by an error of its own, which is the one to tell of."""
    from contextlib import suppress

    from ..runtime.journal.rows import JournalRefused

    journal.abandon(RuntimeError("the run has ended"))
    with suppress(JournalRefused):
        journal.close(None)


def waiting_text(journal: Journal) -> str:
    """Return what a run of a store waits for and how it goes on; the store is named without its password."""
    import shlex

    from ..runtime.journal.run_store import Claim

    run = journal.header.run
    lines = [f"  {wait['key']}  {wait['channel']}  {json.dumps(wait['value'], ensure_ascii=False)}" for wait in journal.suspended]
    assert isinstance(journal.sink, Claim), "nothing else lets a run wait without its process"
    store = shlex.quote(journal.sink.store.name)
    example = f"concerto resume {run} --store {store} --answer '{journal.suspended[0]['key']}=JSON'" if lines else ""
    return "\n".join([f"the run {run} waits for an answer:", *lines, f"answer it: {example}"])


def told_of(row: RunRow) -> dict[str, Any]:
    """Return a run as `--json` shows it: plain data, times in seconds since 1970, `outcome` None while it is not over, `call`
    None for a run of main."""
    outcome = row.outcome
    return {
        "id": row.id, "program": row.header.program, "image": row.header.image, "args": row.header.args, "state": row.state,
        "created": row.created, "changed": row.changed, "rows": row.rows, "emits": row.emits, "waits": row.waits,
        "call": row.call,
        "outcome": None if outcome is None else {"outcome": outcome.outcome, "message": outcome.message, "value": outcome.value},
    }  # fmt: skip
