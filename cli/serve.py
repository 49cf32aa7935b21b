"""`concerto serve`: a program as a web service (S-1.1, S-1.7).

Hands on `configure`, `execute`, `words_of` and `hint_of` to `main`; to `mcp`, which serves the same sessions in another way,
`session_flags`, `session_options`, `program_of` and `missing_library`. What a service does is in `serve/`; here flags become its
settings, and a missing library is told.
"""

from __future__ import annotations

import os
import sys

from . import exits
from .inputs import find_modules_beside, load_program, pins_path, project_folder
from .run import add_flags, environment, manifest_file, permissions, scripted_replies, seconds, steps
from .run import hint_of as hint_of
from .run import words_of as words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..api.program import Program
    from ..vm.interp import link

LIBRARIES = ("starlette", "uvicorn", "prometheus_client", "h11", "anyio", "mcp", "mcp_types")


MOST_WORKERS = 1000  # processes of one command: more than any machine has cores


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `serve`."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source (.conc) or an image")
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help="the address to listen on; another needs tokens")
    parser.add_argument("--port", default=8000, type=_port, metavar="N", help="its port, 8000 by default; 0: a free one")
    many = "processes that serve; sessions are not kept then"
    parser.add_argument("--workers", default=1, type=_workers, metavar="N", help=many)
    tokens = "who may call: lines `NAME TOKEN`, each token at least 16 characters; `chmod 600` it"
    parser.add_argument("--tokens", metavar="FILE", help=tokens)
    approver = "a name of --tokens that sees and answers the questions of all; repeated: several"
    parser.add_argument("--approver", action="append", default=[], metavar="NAME", help=approver)
    hosts = "a name of this server in the header Host; repeated: several (a loopback address has its own names)"
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=hosts)
    url = "the address by which others reach it, as its agent card says it, where a proxy stands in front"
    parser.add_argument("--url", metavar="URL", help=url)
    parser.add_argument("--body-bytes", type=steps, metavar="N", help="bytes of a request's body, 1048576 by default")
    parser.add_argument("--concurrent", type=steps, metavar="N", help="calls that run at once, 512 by default")
    parser.add_argument("--queue", type=_count, metavar="N", help="calls that wait for a place, 512 by default")
    parser.add_argument("--queue-seconds", type=seconds, metavar="S", help="how long at most, 10 by default")
    parser.add_argument("--rate", type=seconds, metavar="N", help="calls a second and caller")
    parser.add_argument("--day-tokens", type=steps, metavar="N", help="tokens of all calls of a caller in a day (UTC)")
    parser.add_argument("--day-cost", type=seconds, metavar="X", help="their cost, in dollars")
    parser.add_argument("--linger", type=seconds, metavar="S", help="a stream without a reader is cancelled then, 5 by default")
    parser.add_argument("--state", metavar="FILE", help="keeps sessions, budgets of the day and first answers across restarts")
    durable = "a public function whose calls go on in another process and without a client; repeated: several"
    parser.add_argument("--durable", action="append", default=[], metavar="NAME", help=durable)
    parser.add_argument("--store", metavar="PATH", help="the run store of durable calls: a path, or postgres://USER@HOST/DATABASE")
    parser.add_argument("--drain", type=seconds, default=30.0, metavar="S", help="seconds for calls after SIGTERM, 30 by default")
    session_flags(parser)


def session_flags(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of what each session gets."""
    parser.add_argument("--offline", action="store_true", help="answer every model call without network or keys")
    parser.add_argument("--offline-script", metavar="FILE", help="replies of models, for each session from the first")
    parser.add_argument("--env-file", metavar="FILE", help="NAME=value lines; variables already set win")
    parser.add_argument("--max-steps", type=steps, metavar="N", help="of a call: stop with P101 after N steps")
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="of a call: stop with P102 after S seconds")
    parser.add_argument("--max-tokens", type=steps, metavar="N", help="of a call: refuse requests beyond N tokens")
    parser.add_argument("--max-cost", type=seconds, metavar="X", help="of a call: refuse requests beyond a cost of X dollars")
    parser.add_argument("--max-model-calls", type=steps, metavar="N", help="of a call: refuse requests after N of them")
    parser.add_argument("--tier", choices=("interp", "both"), default="both", help="interp: the interpreter alone")
    add_flags(parser)


def _workers(word: str) -> int:
    count = steps(word)
    if count > MOST_WORKERS:
        import argparse

        raise argparse.ArgumentTypeError(f"expected at most {MOST_WORKERS:,}")
    return count


def _port(word: str) -> int:
    if not word.isdecimal() or int(word) > 65535:
        import argparse

        raise argparse.ArgumentTypeError("expected a number from 0 to 65535")
    return int(word)


def _count(word: str) -> int:
    if not word.isdecimal():
        import argparse

        raise argparse.ArgumentTypeError("expected a whole number of at least 0")
    return int(word)


def execute(arguments: argparse.Namespace) -> int:
    """Serve until a signal ends it, and return 0. Raise `Exit`: 2 for settings that do not fit, such as another host than a
    loopback address without tokens; 1 for an address that cannot be had and a missing library; 66 for files of settings that
    cannot be read or opened; 65 for a program without public functions, else for the program and the flags of sessions as
    `run`."""
    try:
        from ..serve import server
        from ..serve.asgi import asgi
        from ..serve.caller import LOCAL
    except ModuleNotFoundError as missing:
        raise missing_library(missing) from None
    settings = settings_of(arguments)
    host = arguments.host.strip("[]")
    host = f"[{host}]" if ":" in host else host  # as addresses have it
    if server.is_loopback(arguments.host):
        settings["hosts"] = (*LOCAL, host, *arguments.allow_host)
    elif not settings["tokens"]:
        way = "name who may call with `--tokens FILE`, or leave --host out"
        raise exits.Exit(exits.USAGE, f"serve: {arguments.host} can be reached by others, and nobody asks who calls: {way}")
    elif arguments.allow_host:
        settings["hosts"] = tuple(arguments.allow_host)
    if arguments.workers > 1 and arguments.file == "-":
        way = "write it to a file, or leave --workers out"
        raise exits.Exit(exits.USAGE, f"serve: each of several workers reads the program, and standard input is read once: {way}")
    if arguments.workers > 1:
        settings["sessions"] = 0  # each process would have its own
    program = program_of(arguments)
    options = {**settings, **session_options(arguments, program)}
    try:
        application = asgi(program, **options)
    except (ValueError, TypeError) as refused:
        raise exits.Exit(exits.USAGE, f"serve: {refused}") from None
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"serve: {error.strerror or error}") from None
    try:
        listener = server.listen(arguments.host, arguments.port)
    except OSError as error:
        where = f"{host}:{arguments.port}"
        raise exits.Exit(exits.FAILED, f"serve: cannot listen on {where}: {error.strerror or error}") from None
    from ..serve.access_log import lines_on

    lines_on(sys.stderr, quiet=arguments.quiet)
    print(f"serving {program.name} on http://{host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    served = application if arguments.workers == 1 else server.Recipe(arguments.file, options, arguments.quiet)
    server.serve(listener, served, workers=arguments.workers, drain=arguments.drain)
    return exits.OK


def missing_library(missing: ModuleNotFoundError) -> exits.Exit:
    """Return what ends the command (1) where a library is not installed; another defect is raised."""
    if (missing.name or "").partition(".")[0] not in LIBRARIES:
        raise missing
    from ..runtime.errors import install_advice

    text = f"a service needs the library {missing.name}, which is not installed: {install_advice('serve')}"
    return exits.Exit(exits.FAILED, text)


def program_of(arguments: argparse.Namespace) -> Program:
    """Return the program of FILE. Raise `Exit` as `load_program`, and 65 for one without public functions."""
    from ..api.program import Program

    linked = load_program(arguments.file, quiet=arguments.quiet)
    if not linked.image.exports.functions:
        raise exits.Exit(exits.COMPILE_ERRORS, f"{arguments.file}: there is nothing to serve: declare a function with `pub fn`")
    own = manifest_file(arguments.file, linked)
    find_modules_beside(arguments.file)
    return Program(linked, (), project_folder(own), None, _keys(own))


def _keys(file: str) -> dict[str, str]:
    """Return `[serve.keys]` of the project of a source."""
    if file == "-" or not os.path.exists(file):
        return {}
    from ..compiler.project import locate

    manifest = locate(file).manifest
    return {} if manifest is None else manifest.serve_keys


def settings_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that flags of `serve` say. Raise `Exit`: 66 and 2 for the file of tokens, 2 for an approver that it
    does not name."""
    named = {
        "body_bytes": arguments.body_bytes, "concurrent": arguments.concurrent, "queue": arguments.queue,
        "queue_seconds": arguments.queue_seconds, "rate": arguments.rate, "day_tokens": arguments.day_tokens,
        "day_cost": arguments.day_cost, "linger_seconds": arguments.linger, "state": arguments.state, "store": arguments.store,
        "url": arguments.url,
    }  # fmt: skip
    given = {name: value for name, value in named.items() if value is not None}
    tokens = _tokens(arguments.tokens)
    unknown = next((name for name in arguments.approver if name not in tokens), None)
    if unknown is not None:
        known = ", ".join(tokens) or "none, name who may call with `--tokens FILE`"
        raise exits.Exit(exits.USAGE, f"serve: --approver {unknown} is no caller; those are: {known}")
    names = {"approvers": tuple(arguments.approver), "durable": tuple(arguments.durable)}
    return {**given, **names, "tokens": tokens}


def _tokens(path: str | None) -> dict[str, str]:
    if path is None:
        return {}
    from ..serve.settings import TOKEN, is_token
    from .inputs import read

    tokens: dict[str, str] = {}
    for number, line in enumerate(read(path).decode("utf-8", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or words[0] in tokens:
            raise exits.Exit(exits.USAGE, f"{path}:{number}: expected `NAME TOKEN`, each name once")
        if not is_token(words[1]):
            raise exits.Exit(exits.USAGE, f"{path}:{number}: the token of {words[0]} is not {TOKEN}")
        tokens[words[0]] = words[1]
    if not tokens:
        raise exits.Exit(exits.USAGE, f"{path}: it names nobody: a line is `NAME TOKEN`")
    return tokens


def session_options(arguments: argparse.Namespace, program: Program) -> dict[str, Any]:
    """Return the options of each session that flags say. Raise `Exit` as `run` does for the same flags."""
    from ..api.options import Budgets

    names = ("steps", "seconds", "tokens", "cost", "model_calls")
    limits = {name: getattr(arguments, f"max_{name}") for name in names}
    pins = pins_path(arguments.file)
    options: dict[str, Any] = {
        "offline": arguments.offline or os.environ.get("CONCERTO_OFFLINE") == "1",
        "offline_script": scripted_replies(arguments.offline_script),
        "env": dict(environment(arguments.env_file)) if arguments.env_file else None,
        "budgets": Budgets(**limits, per="call") if any(limits.values()) else None,
        "tier": arguments.tier,
        "permissions": _permissions(arguments, program._linked),
        "mcp_pins": pins if pins is not None and os.path.exists(pins) else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _permissions(arguments: argparse.Namespace, linked: link.Program) -> Any:
    """Return what flags and manifest grant, to libraries too, as an option of a session."""
    from ..batches.grants import Granted

    return Granted(permissions(arguments, manifest_file(arguments.file, linked)))
