"""`concerto run`: run main; emits go to stdout, errors and panics to stderr (O-9.11, O-9.13, O-5.33).

Hands on `configure`, `execute`, `words_of` and `hint_of` to `main`. Also has what every verb shares that runs programs (`test`,
`repl` and the notebook by `dialogue`, `resume`, `trace` with `--check` or `--program`): the flags (`configure_run`, `words_of`,
`hint_of`), the limits that they describe (`limits_of`), their host (`host_of`: what a run reaches of the world outside, as
functions and settings), `run_session`, and the lines of a stack trace (`trace_lines`); for `resume`, `trace_check` and
`trace_program` also `system_input`, for the first `finish`, `telemetry` and `code_cache`; for `test` and `dialogue` `write_out`,
for `test` `skip_waits`. Verbs with sessions of another kind (`batch`, `serve`, `mcp`, `pin`, `models`) take what they need of
these: the permission flags (`add_flags`, `words_of`, `hint_of`) with `manifest_file` and `permissions`, the types of values
(`steps`, `seconds`), `scripted_replies` and `environment`; `pin` also `working_directory` and `LazyNetwork`. A new flag is a line
in `configure_run`, or in `configure` if only `run` has it, and one where it is used. Where a program comes from is for
`cli/inputs.py`; what a session does is for the runtime.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial

from ..runtime.access.permissions import Permissions
from ..runtime.connections import ProcessEnvironment
from ..vm.builtins.capabilities import BY_KEY, CAPABILITIES, GROUPS, Malformed
from . import exits
from .inputs import demand_of_flags, file_namer, grant_of_project, load_program, project_folder, read
from .journals import add_journal_flags, is_replay, journal_of, run_with_journal, take_back
from .terminal import Progress, failure_line, payload_text, printable_on
from .watch import add_watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Sequence
    from random import Random
    from typing import Any

    from ..runtime.access.secrets import Redactor
    from ..runtime.host import Host
    from ..runtime.session.code_cache import CodeCache
    from ..runtime.session.session import Outcome
    from ..vm.bytecode.image import Image
    from ..vm.interp.link import Program


# The permission flags.

# A word of the shell holds no NUL, so nobody can write this by accident, as one writes `--allow-net=$UNSET`.
EVERYTHING = "\0"
FLAGS: dict[str, tuple[str, ...]] = {capability.flag: (capability.key,) for capability in CAPABILITIES} | GROUPS
WITHOUT_LIST = "--allow-all"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the permission flags of O-4.18: `--allow-net=a.org,b.org:80` for a list, bare for the whole capability; and
    `--disable-tool`."""
    group = parser.add_argument_group("permissions", "a comma list after =, or nothing for the whole capability")
    for capability in CAPABILITIES:
        _add(group, capability.flag, f"[={capability.scope},…]", capability.doc)
    _add(group, "--allow-fs", "[=PATH,…]", "both of the fs flags")
    _add(group, WITHOUT_LIST, "", "everything; takes no list")
    help = "grant code of a library what the run may touch: CAPABILITY or CAPABILITY=SCOPE, as fs:read=in; or no-models"
    group.add_argument("--allow-lib", action="append", default=[], metavar="NAME:CAPABILITY", type=_library_grant, help=help)
    help = "take a tool, or one method of it, away"
    group.add_argument("--disable-tool", action="append", default=[], metavar="T[.m]", help=help)


def _add(group: Any, flag: str, metavar: str, doc: str) -> None:
    group.add_argument(flag, action="append", default=[], metavar=metavar, help=doc, type=_scope(flag))


def _library_grant(text: str) -> str:
    """Return the value of --allow-lib. Raise ArgumentTypeError for one that is written wrongly."""
    try:
        Permissions().grant_library(text)
    except Malformed as refused:
        raise _refused(str(refused)) from None
    return text


def _scope(flag: str) -> Callable[[str], tuple[str, ...] | bool]:
    """Return what reads the value of a flag: True, or the texts of its list. It raises ArgumentTypeError for a scope that
    is written wrongly."""

    def read(value: str) -> tuple[str, ...] | bool:
        if value == EVERYTHING:
            return True
        if flag == WITHOUT_LIST:
            raise _refused("it takes no list")
        try:
            for scope in value.split(","):
                BY_KEY[FLAGS[flag][0]].check(scope)
        except Malformed as refused:
            raise _refused(str(refused)) from None
        return tuple(value.split(","))

    return read


def _refused(why: str) -> Exception:
    from argparse import ArgumentTypeError  # a right value starts without it

    return ArgumentTypeError(why)


def words_of(words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the words for the parser, and the values that are set beside it: `program_arguments`, the words behind `--`. A bare
    flag gets its value here, so that argparse does not take the next word for it."""
    end = words.index("--") if "--" in words else len(words)
    # argparse gives a flag with an optional value the next word.
    spelled_out = [f"{word}={EVERYTHING}" if word in FLAGS else word for word in words[:end]]
    return spelled_out, {"program_arguments": list(words[end + 1 :])}


def hint_of(words: Sequence[str]) -> str:
    """Return the advice for `--allow-net a.org`, empty where there is no case for it: the word after a bare flag is no list of
    it, which shows when the word turns out to be no file."""
    for flag, word in zip(words, words[1:], strict=False):
        if flag == "--":
            break
        if flag in FLAGS and not word.startswith("-"):
            list_form = "" if flag == WITHOUT_LIST else f"; write {flag}={word} if that was meant"
            return f" ({flag} takes no word behind it{list_form})"
    return ""


def permissions_of_flags(arguments: argparse.Namespace) -> Permissions:
    """Return the permissions that the flags of a command line grant, and the tools that they take away."""
    permissions = Permissions()
    for flag, keys in FLAGS.items():
        for scope in getattr(arguments, flag.removeprefix("--").replace("-", "_")):
            for key in keys:
                permissions.grant(key, scope)
    for text in arguments.allow_lib:
        permissions.grant_library(text)
    permissions.disabled = tuple(name for names in arguments.disable_tool for name in names.split(","))
    return permissions


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `run`."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source (.conc), an image, or - for source on stdin")
    configure_run(parser)
    parser.usage = "concerto run [options] [FILE] [-- ARGS]"
    parser.epilog = "ARGS are what std::env::args() gives the program"
    debug = "show the locals of each frame of a stack trace, and where translated code comes from"
    parser.add_argument("--debug", action="store_true", help=debug)
    parser.add_argument("--no-code-cache", action="store_true", help="neither read nor keep translated code of earlier runs")
    add_watch(parser)
    add_journal_flags(parser)
    signed = "run only an image that this public key (a file, or its text) has signed, in FILE.minisig; repeated: one of them"
    parser.add_argument("--trust-key", metavar="PUB", action="append", default=[], help=signed)
    hashed = "run only the image with this hash, as `concerto inspect` shows it; repeated: one of them"
    parser.add_argument("--pin", metavar="HASH", action="append", default=[], type=content_hash, help=hashed)
    parser.add_argument("--metrics", action="store_true", help="print the counters of the run as JSON on stderr")


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of everything that runs programs (O-9.27)."""
    parser.add_argument("--offline", action="store_true", help="answer every model call without network or keys")
    scripted = "replies: a JSON array, or a program's comments `// reply: …`, `// answer: …`; implies --offline"
    parser.add_argument("--offline-script", metavar="FILE", help=scripted)
    parser.add_argument("--env-file", metavar="FILE", help="NAME=value lines; variables already set win")
    parser.add_argument("--max-steps", type=steps, metavar="N", help="stop with P101 after N steps")
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="stop with P102 after S seconds")
    tokens = "refuse requests (BudgetError) when the models have used N tokens; each reserves its max_tokens, 4096 if unset"
    parser.add_argument("--max-tokens", type=steps, metavar="N", help=tokens)
    parser.add_argument("--max-cost", type=seconds, metavar="X", help="refuse requests (BudgetError) once they cost X dollars")
    parser.add_argument("--max-model-calls", type=steps, metavar="N", help="refuse requests (BudgetError) after N of them")
    tiers = "interp: the interpreter alone; both (the default): what runs often is translated to Python"
    parser.add_argument("--tier", choices=("interp", "both"), default="both", help=tiers)
    parser.add_argument("--seed", type=int, metavar="N", help="fixes the random numbers and retry jitter")
    parser.add_argument("--emit-format", choices=("text", "json"), default="text", help="how emits are printed: text or json")
    parser.add_argument("--verbose", action="store_true", help="print the emits of runtime channels too")
    requests = "print each model request on stderr as it is sent, its size, and how much of it equals the one before"
    parser.add_argument("--verbose=requests", action="store_true", dest="verbose_requests", help=requests)
    add_flags(parser)


def steps(word: str) -> int:
    """Return the value of a flag that counts, such as --max-steps or --max-tokens: a whole number of at least 1. Raise
    ArgumentTypeError for any other word."""
    if not word.isdecimal() or int(word) < 1:
        import argparse

        raise argparse.ArgumentTypeError("expected a whole number of at least 1")
    return int(word)


def content_hash(word: str) -> str:
    """Return the value of --pin, 64 hexadecimal digits. Raise ArgumentTypeError for any other word."""
    from ..runtime.trust.levels import checked_pin

    try:
        return checked_pin(word)
    except ValueError as refused:
        raise _refused(str(refused)) from None


def seconds(word: str) -> float:
    """Return the value of a flag that measures, such as --max-seconds or --max-cost: a finite number above 0. Raise
    ArgumentTypeError for any other word."""
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    # `nan` fails this as well.
    if not 0 < value < float("inf"):
        import argparse

        raise argparse.ArgumentTypeError("expected a number above 0")
    return value


def _refuse_word(file: str) -> None:
    """Raise `Exit` for a word that is no file where it was meant for the program: in a project, FILE may be left out."""
    if not os.path.splitext(file)[1] and os.path.isfile("Concerto.toml") and not os.path.exists(file) and file != "-":
        way = f"arguments of the program stand behind --: `concerto run -- {file}`"
        raise exits.Exit(exits.NO_INPUT, f"cannot read {file}: No such file or directory; {way}")


def execute(arguments: argparse.Namespace) -> int:
    """Run main of a program. Return the exit code of O-9.11: 0, after an Err or a panic 1, or 77 where a permission is denied.
    Raise `Exit` for what cannot be run: 65 for a source with errors and a program without main, 66 for a file that cannot be
    read, 74 for an image that is refused, 2 for a wrong configuration, a wrong file of replies, variables or pins, a wrong key,
    and bytecode of another implementation, 1 where a signature is demanded and what verifies it is not installed; for recordings
    and run stores as `journal_of` and `run_with_journal`, 75 among them for a run that waits for an answer. Raise
    KeyboardInterrupt after Ctrl-C."""
    _refuse_word(arguments.file)
    program = load_program(arguments.file, quiet=arguments.quiet, demand=demand_of_flags(arguments))
    if program.image.header.entry is None:
        raise exits.Exit(exits.COMPILE_ERRORS, f"{arguments.file}: error[E1013]: no main function to run; add `fn main() {{ }}`")
    from ..runtime.errors import ConfigFailure
    from ..runtime.session.session import Session

    try:
        host = host_of(arguments, arguments.file, program=program)
        # What only this verb has; tests and the REPL run without.
        host.code_cache = code_cache(arguments)
        host.stdin = system_input
        host.journal = journal_of(arguments, program, host)
        host.telemetry = telemetry(arguments)
        try:
            session = Session(program, host)
        except ConfigFailure:
            take_back(arguments, host.journal)
            raise
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None
    session.machine.keeps_locals = arguments.debug
    run = partial(run_session, session, **limits_of(arguments))
    outcome = run() if host.journal is None else run_with_journal(session, run)
    sys.stdout.flush()
    if arguments.metrics:
        import json

        print(json.dumps(session.metrics.as_json()), file=sys.stderr)
    # Without the note a script that is too short would look like a model that behaves oddly.
    if session.pool.unscripted and not arguments.quiet:
        requests = "1 request was" if session.pool.unscripted == 1 else f"{session.pool.unscripted} requests were"
        print(f"{arguments.offline_script} has no reply left: {requests} answered as --offline does", file=sys.stderr)
    return finish(arguments.file, outcome, session)


def telemetry(arguments: argparse.Namespace) -> Any:
    """Return what sends spans and metrics of the run to where OTEL_… variables say, None where they say nothing (O-9.81). A note
    on stderr says where it cannot."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        return None
    from ..runtime.telemetry import MissingExtra, telemetry_of

    try:
        return telemetry_of(os.environ)
    except MissingExtra as missing:
        if not arguments.quiet:
            print(missing, file=sys.stderr)
        return None


def system_input() -> Any:
    """Return standard input for `std::io` (L-7.11); a closed one is at its end."""
    from ..runtime.effects.standard_input import Scripted, SystemInput

    return Scripted() if sys.stdin is None else SystemInput(sys.stdin)


def code_cache(arguments: argparse.Namespace) -> CodeCache | None:
    """Return where translated code of earlier runs is: below XDG_CACHE_HOME if that is absolute, else below ~/.cache; None with
    `--no-code-cache` or `--tier interp`, and without either. It is not beside the program, whose folder the program may have been
    granted (G-3.7)."""
    # The XDG base directory specification; a relative path is to be ignored.
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
    if arguments.no_code_cache or arguments.tier == "interp" or not os.path.isabs(base):
        return None
    from ..runtime.session.code_cache import CodeCache

    def report(line: str) -> None:
        if arguments.debug:
            print(printable_on(line, sys.stderr), file=sys.stderr)

    progress = Progress(quiet=arguments.quiet)
    return CodeCache(os.path.join(base, "concerto", "code"), report, progress.line if progress.enabled else None)


def limits_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the budgets that the flags of a run set, by the names of the arguments of `Session.run`; None where there is no flag
    (O-9.27)."""
    return {name: getattr(arguments, f"max_{name}") for name in ("steps", "seconds", "tokens", "cost", "model_calls")}


def finish(file: str, outcome: Outcome, session: Any) -> int:
    """Print on stderr how the run of a FILE ended, nothing where it ended well; return its exit code. Raise `Exit` as `read`."""
    clean = session.redactor.clean
    if outcome.panic is not None:
        failure, beneath = str(outcome.panic), local_lines(outcome.panic.locals, session.redactor)
    elif outcome.exit_code:
        failure, beneath = f"error: {outcome.message}", nothing
    else:
        return 0
    print(failure_line(clean(failure)), file=sys.stderr)
    named = file_namer(file, [library.name for library in session.program.image.libraries])
    for line in trace_lines(outcome.trace, beneath, named):
        print(printable_on(line, sys.stderr), file=sys.stderr)
    return outcome.exit_code


SHOWN_FRAMES = 50  # of a stack trace at most
UNANSWERED = 86_400.0  # seconds after which `// answer: CHANNEL none` fails an emit without a timeout


def nothing(frame: int) -> list[str]:
    """Return no lines below a frame."""
    return []


def trace_lines(
    trace: Any, beneath: Callable[[int], list[str]] = nothing, named: Callable[[str], str] = lambda name: name
) -> list[str]:
    """Return one line for each entry of a trace, in its order, innermost first; beyond SHOWN_FRAMES one line stands for the
    middle (L-5.13.1). `trace` has frames as (function, file, line, column), line and column from 1, the file "" where no place is
    known, and numbers for so many places that are left out. `beneath` returns the lines that follow a frame, by its index in
    `trace`, `named` a file as it is shown."""
    # Both ends of a deep recursion tell more than its middle.
    half = SHOWN_FRAMES // 2
    left_out = range(half, len(trace) - half) if len(trace) > SHOWN_FRAMES else range(0)
    lines = []
    for frame, place in enumerate(trace):
        if frame in left_out:
            lines += [f"  … {len(left_out)} more frames …"] if frame == half else []
        elif isinstance(place, int):  # of the way of an error
            lines.append(f"  … {place} more …")
        else:
            name, file, line, column = place
            lines += [f"  at {name} ({named(file)}:{line}:{column})" if file else f"  at {name}", *beneath(frame)]
    return lines


def local_lines(frames: Sequence[dict[str, Any]], redactor: Redactor) -> Callable[[int], list[str]]:
    """Return what gives a line for each variable of a frame, by the number of the frame, in debug form (O-9.13). `frames` has for
    each frame its variables by name; without any there are no lines. Secrets are taken out of the values before their texts are
    quoted and cut (G-10.3)."""
    from ..runtime.access.secrets import without_secrets
    from ..vm.panics import Panic
    from ..vm.values import brief

    def text(value: Any) -> str:
        try:
            return redactor.clean(brief(without_secrets(value, redactor)))
        except Panic as panic:
            return f"<{panic.message}>"

    return lambda frame: [f"      {name} = {text(value)}" for name, value in frames[frame].items()] if frames else []


def run_session(session: Any, **limits: Any) -> Outcome:
    """Run a session to its end and return the outcome; `limits` are the arguments of `Session.run`. Raise KeyboardInterrupt for
    a run that Ctrl-C ended. Offline runs without processes wait for nothing outside, so asyncio is not imported for them: their
    loop, which `host_of` has set, is a small one with a virtual clock."""
    if session.host.loop is not None:
        from ..runtime.session.session import run_offline

        return run_offline(session, **limits)
    import asyncio

    show_at_once()
    with asyncio.Runner(loop_factory=session.host.new_loop) as runner:
        outcome = runner.run(_interruptible(session, limits))
    if outcome is None:
        raise KeyboardInterrupt
    return outcome


async def _interruptible(session: Any, limits: dict[str, Any]) -> Outcome | None:
    """Return the outcome, or None when the run was interrupted. Ctrl-C ends the machine at its next look at the stop flag
    and cancels the call it waits for; asyncio's own handler only cancels, which a program that computes never notices. A
    second Ctrl-C interrupts whatever runs."""
    import asyncio
    import signal
    import threading

    from ..vm.interp.machine import Stopped

    loop, run = asyncio.get_running_loop(), asyncio.ensure_future(session.run(**limits))

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # The flag ends a program that computes, the cancelling one that waits.
        session.stop("interrupted")
        loop.call_soon_threadsafe(run.cancel)

    usual = threading.current_thread() is threading.main_thread()
    if usual:
        signal.signal(signal.SIGINT, interrupt)
    try:
        outcome: Outcome = await run
        return outcome
    except (Stopped, asyncio.CancelledError):
        return None
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def host_of(
    arguments: argparse.Namespace,
    file: str = "-",
    emit: Callable[[str, Any, bool], None] | None = None,
    program: Program | None = None,
) -> Host:
    """Return the host that the flags of a run describe; CONCERTO_OFFLINE=1 counts as `--offline`. `file` is the FILE, whose
    manifest grants permissions, `-` for none. Without `emit`, emits are printed. `program` is None where programs come later, as
    in the REPL. Agents, servers and commands of a program are processes, offline too (O-1.29). Raise `Exit`: as `read` for
    `file`, and 66 or 2 for the files of `--env-file` and `--offline-script`, and the one of pins."""
    from ..runtime.host import Host

    own = manifest_file(file, program)
    offline = arguments.offline or bool(arguments.offline_script) or os.environ.get("CONCERTO_OFFLINE") == "1"
    generator = RandomNumbers(arguments.seed)
    host = Host(
        emit=emit or emit_printer(arguments),
        print=write_out,
        env=environment(arguments.env_file),
        now=time.monotonic,
        sleep=_sleep,
        random=generator.random,
        offline=offline,
        script=scripted_replies(arguments.offline_script),
        random_bits=generator.getrandbits,
        args=arguments.program_arguments,
        permissions=permissions(arguments, own),
        folder=working_directory(),
        network=None if offline else LazyNetwork(),
        project=project_folder(own),
        hears=lambda: bool(arguments.verbose),
        is_audited=emit is not None or bool(arguments.verbose),
        requests=_print_request if arguments.verbose_requests else None,
        tier=arguments.tier,
        stored_wall=time.time,
    )
    host.python = lambda: _python_functions(file)
    host.answer = scripted_answers(arguments.offline_script, host)
    if program is None or program.image.mcp:
        from .inputs import pins_of  # a program without servers needs none

        host.pins = pins_of(file)
    offline = offline or is_replay(arguments)  # a recording needs neither network nor real time
    processes = program is None or starts_processes(program.image)
    # Orphans of the agents' processes become ours, so that they can be ended with the run.
    if processes and arguments.alone:
        from ..runtime.agents.child import adopt_orphans

        adopt_orphans()
    if offline:
        use_virtual_time(host, processes=program is not None and processes)
    return host


def _python_functions(file: str) -> Any:
    """Return what calls functions of Python. Modules are found beside the program `file` first, as those of a script of Python
    are."""
    from ..api.python_functions import PythonFunctions  # a run without them starts without it
    from .inputs import find_modules_beside

    find_modules_beside(file)
    return PythonFunctions()


def scripted_replies(path: str | None) -> list[Any] | None:
    """Return the replies of `--offline-script` in their order, None without it. Raise `Exit`: 66 for a file that cannot be read,
    2 for replies that are wrong."""
    if path is None:
        return None
    from .inputs import script  # a run without one starts without it

    return script(path)


def scripted_answers(path: str | None, host: Host) -> Callable[[str, Any, Any], Awaitable[Any]] | None:
    """Return what answers awaited emits from the comments of a program that is the script (O-5.39), None without one: a function
    of channel, value and what calls functions of the program. It raises NoListener where no answer is left for the channel, and
    the failure that a comment says; for `none` it waits UNANSWERED seconds by the clock that `host` has in the run, and fails.
    Raise `Exit` as `scripted_replies`."""
    if path is None or not path.endswith(".conc"):
        return None
    from ..runtime.host import NoListener
    from ..vm.values import from_json
    from .inputs import NEVER, ScriptedFailure, answers

    waiting = answers(path)

    def pass_over(channel: str) -> None:
        if waiting.get(channel):
            del waiting[channel][0]

    async def answer(channel: str, _value: Any, _run: Any) -> Any:
        if not waiting.get(channel):
            raise NoListener
        form = waiting[channel].pop(0)
        if form is NEVER:
            await host.sleep(UNANSWERED)
            raise ScriptedFailure("no answer came within a day; the emit has no timeout")
        if isinstance(form, Exception):
            raise form
        return from_json(form)

    answer.passed_over = pass_over  # type: ignore[attr-defined]  # of one that a recording has
    return answer


def starts_processes(image: Image) -> bool:
    """Return whether a program waits for processes or functions of Python, which know no virtual time."""
    of_tools = any(method[6] == "run" for tool in image.tools for method in tool.methods)
    return bool(image.agents or image.mcp or image.externs) or of_tools


def use_virtual_time(host: Host, *, processes: bool) -> None:
    """Make the clock of an offline run jump when every task waits, so that sleeps and scripted delays take no time (V-6.6);
    beside processes it jumps only while none of them is open."""
    if processes:
        skip_waits(host)
        return
    from ..runtime.loop import OfflineLoop

    # The virtual clock begins at the real time, so that dates of a run make sense.
    loop = OfflineLoop(time.monotonic())
    began = time.time() - loop.time()
    host.loop, host.now, host.sleep, host.wall = loop, loop.time, loop.sleep, lambda: began + loop.time()


def skip_waits(host: Host) -> None:
    """Give the host the clock of runs that may wait for something outside: it jumps while nothing of the kind is open
    (V-6.6)."""
    from ..runtime.session.testing import SkippingClock

    clock = SkippingClock()
    host.new_loop, host.now, host.wall = clock.new_loop, clock.now, clock.wall


def write_out(text: str) -> None:
    """Write text of the program to stdout."""
    sys.stdout.write(printable_on(text, sys.stdout))


def manifest_file(file: str, program: Program | None) -> str:
    """Return the FILE whose manifest counts for a program: its own if it was compiled here, for any image `-`, which has none.
    What FILE holds by now does not matter: somebody may have exchanged it (G-1.2)."""
    return file if program is not None and program.trust == "local" else "-"


def permissions(arguments: argparse.Namespace, file: str) -> Permissions:
    """Return what the manifest of a file, one of `manifest_file`, grants, and the flags on top of it (O-4.12). Raise `Exit` as
    `read` for the file."""
    grants = permissions_of_flags(arguments)
    grant_of_project(grants, file)
    return grants


def working_directory() -> str:
    """Return the working directory, or the root if it has been removed."""
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


class RandomNumbers:
    """The random numbers of a run, the same ones for the same `seed`, new ones for None: `random` returns one from 0 to below 1,
    `getrandbits` one of so many bits. Python's generator is made for the first number, since its module takes long to load."""

    __slots__ = ("seed", "generator")

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        # `random` is imported with the first number.
        self.generator: Random | None = None

    def _generator(self) -> Random:
        if self.generator is None:
            from random import Random

            self.generator = Random(self.seed)
        return self.generator

    def random(self) -> float:
        return self._generator().random()

    def getrandbits(self, bits: int) -> int:
        return self._generator().getrandbits(bits)


class LazyNetwork:
    """The network of the system, loaded by the first request."""

    def __getattr__(self, name: str) -> Any:
        from ..runtime.access.network import SystemNetwork

        return getattr(SystemNetwork(), name)


def _print_request(line: str) -> None:
    print(printable_on(line, sys.stderr), file=sys.stderr)


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


def show_at_once() -> None:
    """Make stdout write each line when it is complete, into a pipe too: emits of a run that waits for models appear when
    they happen."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)


def emit_printer(arguments: argparse.Namespace) -> Any:
    """Return the function that prints an emit in the format of the flags; it takes the channel, the value, and whether the
    runtime made the emit. It prints emits of the runtime with `--verbose` only, and no emit with `--quiet`; it raises Panic P103
    for a text beyond the limits of G-6.1."""
    from ..vm.values import to_json

    def text(channel: str, value: Any, by_runtime: bool) -> None:
        if not arguments.quiet and (arguments.verbose or not by_runtime):
            write_out(f"[emit:{channel}] {payload_text(value)}\n")

    def json_line(channel: str, value: Any, by_runtime: bool) -> None:
        if not arguments.quiet and (arguments.verbose or not by_runtime):
            write_out(f'{{"channel":{to_json(channel)},"payload":{to_json(value)}}}\n')

    return json_line if arguments.emit_format == "json" else text


def environment(path: str | None) -> ProcessEnvironment:
    """Return the environment of the process over the NAME=value lines of a file, None for no file (O-9.28). Empty lines, and
    those that begin with `#`, say nothing. Raise `Exit`: 66 for a file that cannot be read, 2 for a line of another form."""
    if path is None:
        return ProcessEnvironment(os.environ)
    variables: dict[str, str] = {}
    for number, line in enumerate(read(path).decode("utf-8-sig", "replace").splitlines(), 1):
        name, separator, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not separator or not name.strip():
            raise exits.Exit(exits.USAGE, f"{path}:{number}: expected NAME=value")
        if len(name.split()) > 1:  # nobody could ask for it: a file for shells says `export NAME=value`
            raise exits.Exit(exits.USAGE, f"{path}:{number}: expected NAME=value, and nothing before the name: {name.split()[0]}")
        variables[name.strip()] = value.strip()
    return ProcessEnvironment({**variables, **os.environ})
