"""`concerto check`: diagnostics only (O-9.15). Nothing of the program is run, and no file is written.

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. Compilation and rendering are in `cli/inputs.py`. Which warnings or errors there are is for the compiler; which of them
end the command with 65, for `is_refused` there.
"""

from __future__ import annotations

import sys

from . import exits
from .inputs import compilation, is_refused, read_source, report, report_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", help="sources (.conc), or - for stdin")
    parser.add_argument("--deny-warnings", action="store_true", help="warnings end the command with 65 too")
    parser.add_argument(
        "--python", action="store_true", help="import the modules of `extern python`, and compare their functions"
    )
    parser.add_argument("--json", action="store_true", help="print diagnostics as one JSON array on stdout")


def execute(arguments: argparse.Namespace) -> int:
    """Check the files and print the diagnostics, on stderr or with `--json` as one array on stdout; return 0, or 65 if one has
    errors, or warnings with `--deny-warnings`. A file that cannot be read (66), is an image (2, damaged 74) or the bytecode of
    another implementation (2), is told on stderr and does not keep the others from being checked; the code of the first such file
    is returned instead. With `--python` the modules of functions of Python are imported and compared (P-1.9). `--quiet` leaves
    out warnings."""
    results = []
    unread = exits.OK
    cache = None
    if len(arguments.files) > 1:
        from ..compiler.incremental import CheckCache

        cache = CheckCache()  # programs may share modules
    for path in arguments.files:
        try:
            result = compilation(path, read_source(path), emit=False, cache=cache)
        except exits.Exit as leaving:
            print(leaving.message, file=sys.stderr)
            unread = unread or leaving.code
            continue
        if arguments.python and result.checked is not None:
            from .inputs import program_folder
            from .python_signatures import compare

            compare(result.checked.functions, program_folder(path), result.diagnostics)
        results.append((path, result))
        if not arguments.json:
            report(path, result, quiet=arguments.quiet)
    if arguments.json:
        report_json(results)
    failed = any(is_refused(result, deny_warnings=arguments.deny_warnings) for _, result in results)
    return unread or (exits.COMPILE_ERRORS if failed else exits.OK)
