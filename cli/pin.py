"""`concerto pin`: accept the tools of MCP servers as they are now, so that a later run refuses one that has changed (O-4.57).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. For the arguments that stand behind `--` it takes over `words_of` and `hint_of` of `run`. A pin is the description of a
tool of a server as a person accepted it. Where the file of pins lies, `inputs.py` says; how pins are made and written, and how
two tools differ, stands in `runtime/mcp/pins.py`. The program itself is not run, and no tool is called.
"""

from __future__ import annotations

import os
import sys
import time

from ..compiler.source import visible
from . import exits
from .inputs import load_program, pins_of, pins_path, project_folder
from .run import LazyNetwork, add_flags, environment, hint_of, manifest_file, permissions, words_of, working_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from ..runtime.host import Host
    from ..runtime.mcp.pins import Pin, Pins
    from ..runtime.session.session import Session

__all__ = ["configure", "execute", "hint_of", "words_of"]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source or an image")
    parser.add_argument("--server", metavar="NAME", action="append", help="this server alone; may be repeated")
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 if a tool is not as it was pinned")
    parser.add_argument("--env-file", metavar="FILE", help="NAME=value lines; variables that are set win")
    add_flags(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Pin the tools of a program's servers and print what has changed; return 0, with `--check` 1 where something has. Raise
    `Exit`: 65, 66 or 74 for a FILE with errors, one that cannot be read and an image that is refused, 2 for the bytecode of
    another implementation, 66 or 2 for pins or a file of `--env-file` that cannot be read or are none, 2 for a name that no
    server has, a wrong configuration, and pins of a source on standard input, which have no place, 1 for a server that cannot be
    connected and a file that cannot be written."""
    from ..runtime.errors import ConfigFailure
    from ..runtime.session.session import Session

    program = load_program(arguments.file, quiet=arguments.quiet)
    declared = [server.name for server in program.image.mcp]
    names = arguments.server or declared
    if any(name not in declared for name in names):
        raise exits.Exit(exits.USAGE, f"{arguments.file}: its MCP servers are: {', '.join(declared) or 'none'}")
    if not names:
        if not arguments.quiet:
            print("no MCP server is declared")
        return exits.OK
    old = pins_of(arguments.file)
    try:
        session = Session(program, _host(arguments, manifest_file(arguments.file, program)))
    except ConfigFailure as failure:
        raise exits.Exit(exits.USAGE, f"{failure.code}: {failure.message}") from None
    new = _served(session, names)
    lines = [line for name in names for line in _changes(name, old.get(name), new[name])]
    if not arguments.quiet:
        print("\n".join(map(visible, lines or ["nothing has changed"])))  # what a server says must not write to the terminal
    if arguments.check:
        return exits.FAILED if lines else exits.OK
    if lines:
        _write(arguments.file, {**old, **new})
    return exits.OK


def _host(arguments: argparse.Namespace, own: str) -> Host:
    import asyncio

    from ..runtime.host import Host

    return Host(
        emit=lambda channel, value, by_runtime: None, print=lambda text: None, env=environment(arguments.env_file),
        now=time.monotonic, sleep=asyncio.sleep, random=lambda: 0.5, permissions=permissions(arguments, own),
        folder=working_directory(), network=LazyNetwork(), project=project_folder(own),
    )  # fmt: skip


def _served(session: Session, names: list[str]) -> Mapping[str, Mapping[str, Pin]]:
    """Return pins of what the servers serve now. Raise `Exit` (1) for one that cannot be connected."""
    import asyncio

    from ..runtime.mcp.served import ServerFailure
    from ..runtime.mcp.servers import Servers

    async def ask() -> Mapping[str, Mapping[str, Pin]]:
        try:
            return await Servers.of(session).pins(names)
        finally:
            await session.aclose()

    try:
        return asyncio.run(ask())
    except ServerFailure as failure:
        raise exits.Exit(exits.FAILED, visible(session.redactor.clean(failure.message))) from None


def _changes(server: str, old: Mapping[str, Pin] | None, new: Mapping[str, Pin]) -> Iterator[str]:
    """Yield a line for each tool that is not as it was pinned, and below it what has changed."""
    from ..runtime.mcp.pins import difference

    before = old or {}
    if old is None:
        yield f"{server}: not pinned before"
    for name, pin in new.items():
        if name not in before:
            yield f"{server}.{name}: new"
        elif before[name].digest != pin.digest:
            yield f"{server}.{name}: changed"
            yield from (f"  {line}" for line in difference(before[name], pin))
    yield from (f"{server}.{name}: gone" for name in before if name not in new)


def _write(file: str, pins: Pins) -> None:
    """Write the pins of a FILE, whole or not at all: half a file of pins is none, and every run would be refused."""
    from ..runtime.mcp.pins import written_pins
    from .compile import write

    path = pins_path(file)
    if path is None:
        raise exits.Exit(exits.USAGE, "source on standard input has no folder for its pins; write it to a file")
    write(os.path.realpath(path), written_pins(pins).encode())
    print(f"wrote {path}", file=sys.stderr)
