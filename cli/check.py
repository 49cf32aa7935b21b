"""`concerto check`: diagnostics only (O-9.15)."""

from __future__ import annotations

import sys

from . import exits
from .inputs import display_name, read, report, sources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="sources (.conc), or - for stdin")
    parser.add_argument("--deny-warnings", action="store_true", help="warnings end the command with 65 too")
    parser.add_argument("--json", action="store_true", help="print diagnostics as one JSON array on stdout")


def execute(arguments: argparse.Namespace) -> int:
    if arguments.json:
        return check_json(arguments.files, arguments.deny_warnings)
    from ..compiler.pipeline import compile_source

    failed = False
    for path in arguments.files:
        result = compile_source(read(path), display_name(path), emit=False)
        report(result, quiet=arguments.quiet)
        failed = failed or result.diagnostics.has_errors or (arguments.deny_warnings and bool(result.diagnostics.found))
    return exits.COMPILE_ERRORS if failed else exits.OK


def check_json(paths: list[str], deny_warnings: bool) -> int:
    """All diagnostics of all files as one array."""
    import json

    from ..compiler.pipeline import compile_source
    from ..compiler.render import render_json

    rows = []
    failed = False
    for path in paths:
        result = compile_source(read(path), display_name(path), emit=False)
        rows += render_json(result.diagnostics, sources_of(result))
        failed = failed or result.diagnostics.has_errors or (deny_warnings and bool(result.diagnostics.found))
    json.dump(rows, sys.stdout, ensure_ascii=False)
    print()
    return exits.COMPILE_ERRORS if failed else exits.OK
