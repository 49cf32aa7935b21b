"""`concerto version`: the versions of the package and of the image format (O-9.26).

Hands on `configure` and `execute` to `main`, and `VERSION`, that of the package, to the conformance driver of this
implementation. The numbers themselves are not decided here: the version stands in the package's `__init__.py`, that of the format
in `vm/bytecode/image.py`.
"""

from __future__ import annotations

from .. import __version__ as VERSION
from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")


def execute(arguments: argparse.Namespace) -> int:
    """Print the versions as a line, with `--json` as one object; return 0."""
    from ..vm.bytecode.image import FORMAT

    image_format = ".".join(map(str, FORMAT))
    if arguments.json:
        print(f'{{"version":"{VERSION}","image_format":"{image_format}"}}')
    else:
        print(f"concerto {VERSION} (image format {image_format})")
    return exits.OK
