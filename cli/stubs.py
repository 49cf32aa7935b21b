"""`concerto stubs`: what type checkers know of a program that Python imports (P-2.3).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. The text is made by `api/stubs.py`. Nothing of the program is run.
"""

from __future__ import annotations

import os
import sys

from . import exits
from .inputs import compile_or_exit, read_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source (.conc), or - for stdin")
    where = "the stub to write, - for stdout; default FILE with .pyi, of a mod.conc __init__.pyi beside it"
    parser.add_argument("-o", dest="output", metavar="OUT", help=where)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where OUT is not what would be written")


def execute(arguments: argparse.Namespace) -> int:
    """Write the stub of a source, and return 0; with `--check` write nothing, and return 1 if the file is another one or not
    there. Raise `Exit`: 2 for an output that is no stub, or `--check` without one, 1 for one that cannot be written, 66 for one
    that `--check` cannot read, 65 for a source with errors, and as `read_source`."""
    output = arguments.output or default_output(arguments.file)
    if output == "-" and arguments.check:
        raise exits.Exit(exits.USAGE, "--check compares with a file: name it with -o")
    if output != "-" and not output.endswith(".pyi"):
        raise exits.Exit(exits.USAGE, f"{output} is no name of a stub, which ends in .pyi")
    text = stub(arguments.file, quiet=arguments.quiet)
    if output == "-":
        sys.stdout.write(text)
    elif arguments.check:
        return _compared(output, text, arguments.file)
    else:
        from .compile import write

        write(output, text.encode())
    return exits.OK


def default_output(path: str) -> str:
    """Return the path of the stub of a source, - for one on stdin."""
    if path == "-":
        return "-"
    folder, name = os.path.split(path)
    stem = "__init__" if name == "mod.conc" else name.removesuffix(".conc")
    return os.path.join(folder, f"{stem}.pyi")


def stub(path: str, *, quiet: bool) -> str:
    """Return the stub of a source. Raise `Exit` as `execute`."""
    result = compile_or_exit(path, read_source(path), quiet=quiet)
    from ..api.declared_classes import classes_of
    from ..api.interface import interface_of
    from ..api.stubs import stub_of
    from ..vm.interp.link import load_image

    assert result.image is not None and result.checked is not None
    classes = classes_of(load_image(result.image, trust="local"))
    classes.interface = interface_of(result.checked)
    return stub_of(classes, os.path.basename(path))


def _compared(output: str, text: str, path: str) -> int:
    try:
        with open(output, "rb") as file:
            found = file.read()
    except FileNotFoundError:
        print(f"{output} is not there; write it: `concerto stubs {path} -o {output}`", file=sys.stderr)
        return exits.FAILED
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot read {output}: {error.strerror or error}") from None
    # A checkout of Git may have turned line ends.
    if found.replace(b"\r\n", b"\n") == text.encode():
        return exits.OK
    print(f"{output} is stale; write it again: `concerto stubs {path} -o {output}`", file=sys.stderr)
    return exits.FAILED
