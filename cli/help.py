"""`concerto help`: all commands, or the flags of one. Both come from the verbs' own descriptions: the table of commands is
`cli/verbs.py`, flags are in `configure` of each verb.

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`.
"""

from __future__ import annotations

from . import exits
from .main import overview, run_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", metavar="COMMAND", nargs="?", help="the command to tell of; default: list all")


def execute(arguments: argparse.Namespace) -> int:
    """Print the commands and return 0; or print the help of one command, after which argparse raises SystemExit (0). Raise
    `Exit` (2) for an unknown command."""
    if arguments.command is not None:
        return run_words([arguments.command, "--help"])
    print(overview())
    return exits.OK
