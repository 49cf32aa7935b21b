"""`concerto lsp`: a language server on standard input and output (O-9.25).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. The server is in `lsp/`; here a missing library is told.
"""

from __future__ import annotations

from .. import __version__ as VERSION
from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


LIBRARIES = ("pygls", "lsprotocol")
MISSING = "the language server needs the library pygls, which is not installed"


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe no flags: the editor sends its wishes in the protocol."""


def execute(arguments: argparse.Namespace) -> int:
    """Serve one editor until it leaves; return 0 if it said goodbye in order, else 1. Raise `Exit` (1) when the library of
    the protocol is not installed."""
    try:
        from ..lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        from ..runtime.errors import install_advice

        raise exits.Exit(exits.FAILED, f"{MISSING}: {install_advice('lsp')}") from None
    return exits.OK if serve(VERSION) else exits.FAILED
