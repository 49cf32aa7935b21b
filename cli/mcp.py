"""`concerto mcp`: a program as an MCP server on standard input and output (S-1.5).

Hands on `configure`, `execute`, `words_of` and `hint_of` to `main`. The flags are those of what each session gets, as `concerto
serve` has them. What the server offers is in `serve/`.
"""

from __future__ import annotations

from . import exits
from .run import hint_of as hint_of
from .run import words_of as words_of
from .serve import missing_library, program_of, session_flags, session_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `mcp`."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source (.conc) or an image")
    session_flags(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Serve one client until it closes standard input, and return 0. Raise `Exit` as `concerto serve` does, and 2 for a program
    on standard input, which is the client's."""
    if arguments.file == "-":
        raise exits.Exit(exits.USAGE, "mcp: standard input is the client's; write the program to a file")
    try:
        from ..serve.app import Application
        from ..serve.mcp_server import serve_stdio
        from ..serve.settings import Serving
    except ModuleNotFoundError as missing:
        raise missing_library(missing) from None
    program = program_of(arguments)
    try:
        application = Application(program, Serving(sessions=1), session_options(arguments, program))
    except (ValueError, TypeError) as refused:
        raise exits.Exit(exits.USAGE, f"mcp: {refused}") from None
    import asyncio

    asyncio.run(serve_stdio(application))
    return exits.OK
