"""The journal of a run on the command line: recorded into a file or given again from one (O-9.33, O-9.34).

Hands on `add_journal_flags` and `journal_of` to `run`, which gives the journal to its host, and `end_journal`, which writes the end
of the run and says what of a recording was not used.
"""

from __future__ import annotations

import os
import sys

from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..runtime.host import Host
    from ..runtime.journal.journal import Journal
    from ..runtime.session.session import Outcome
    from ..vm.interp.link import Program


def add_journal_flags(parser: argparse.ArgumentParser) -> None:
    """Describe the flags by which a run is recorded and given again."""
    group = parser.add_argument_group("recordings", "effect files: every outcome from outside, in order")
    group.add_argument("--record", metavar="FILE", help="write an effect file, which must not be there yet")
    group.add_argument("--replay", metavar="FILE", help="answer every effect from an effect file: no network, no keys")
    group.add_argument("--extend", action="store_true", help="with --replay: perform and append what comes behind its end")


def is_replay(arguments: argparse.Namespace) -> bool:
    """Return whether nothing outside is reached: every outcome comes from a file."""
    return getattr(arguments, "replay", None) is not None and not arguments.extend


def journal_of(arguments: argparse.Namespace, program: Program, host: Host) -> Journal | None:
    """Return the journal that the flags ask for, None where they ask for none. Raise `Exit`: 2 for flags that do not fit, 66 for a
    file that cannot be read or made, 74 for one that is refused."""
    if arguments.record and arguments.replay:
        raise exits.Exit(exits.USAGE, "--record and --replay: a run is recorded or given again; --extend goes on with a recording")
    if arguments.extend and not arguments.replay:
        raise exits.Exit(exits.USAGE, "--extend goes on with the recording that --replay names")
    if not arguments.record and not arguments.replay:
        return None
    from ..runtime.journal.recording import new_header, player, recorder
    from ..runtime.journal.rows import JournalRefused

    real_time, real_wall = host.now, host.wall
    path = arguments.record or arguments.replay
    try:
        if arguments.record:
            header = new_header(program, arguments.program_arguments, arguments.seed, real_wall(), host.offline, os.urandom)
            return recorder(path, header, real_time, real_wall)
        journal = player(path, program, arguments.extend, real_time, real_wall)
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot use {path}: {error.strerror or error}") from None
    except JournalRefused as refused:
        raise exits.Exit(exits.IMAGE_REJECTED, str(refused)) from None
    host.args, host.offline = journal.header.args, journal.header.offline
    return journal


def end_journal(journal: Journal, outcome: Outcome | None, session: Any) -> int:
    """Write the end of the run, None for a cancelled one, and return the exit code that its journal wants, 0 for none: 1 for a
    recording that has more than the run asked for."""
    from ..runtime.journal.recording import end_of

    unused = journal.unused() if outcome is not None and outcome.panic is None else None
    journal.close(end_of(outcome, session.redactor.clean))
    if unused is None:
        return 0
    print(f"panic[P406]: {unused}", file=sys.stderr)
    return exits.FAILED


