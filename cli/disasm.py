"""`concerto disasm`: the instructions with their source lines (O-9.18).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. The lines, and the data of `--json`, are made by `vm/bytecode/disasm.py`; here functions are chosen and printed. Nothing
is run or written to files.
"""

from __future__ import annotations

from . import exits
from .inputs import load_image_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source or an image")
    parser.add_argument("--function", metavar="F", help="only this function")
    parser.add_argument("--json", action="store_true", help="as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print the instructions of an image, or of the functions of one name; return 0. Raise `Exit`: 2 for an unknown function, and
    as `load_image_of`, 2, 65, 66 or 74 for a FILE of another implementation, with errors, that cannot be read or that is
    refused."""
    from ..vm.bytecode import disasm

    image, _ = load_image_of(arguments.file, quiet=arguments.quiet)
    numbers = [n for n, f in enumerate(image.functions) if arguments.function in (None, f.name)]
    if not numbers and arguments.function is not None:
        names = ", ".join(f.name for f in image.functions)
        raise exits.Exit(exits.USAGE, f"no function {arguments.function}; there are: {names}")
    if arguments.json:
        import json

        data = disasm.as_data(image)
        data["functions"] = [data["functions"][n] for n in numbers]
        print(json.dumps(data, ensure_ascii=False))
    elif arguments.function is None:
        print(disasm.disassemble(image), end="")
    else:
        for number in numbers:
            print(disasm.disassemble_function(image, number), end="")
    return exits.OK
