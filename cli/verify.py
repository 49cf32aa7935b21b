"""`concerto verify`: whether one of some keys has signed an image (O-9.73, G-3.6).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. The checks are those of `run --trust-key`, in the same order; what is in the image is not looked at.
"""

from __future__ import annotations

from ..compiler.source import visible
from ..runtime.trust.levels import Demand
from ..runtime.trust.minisign import SUFFIX
from ..vm.bytecode.encoding import check_frame
from ..vm.bytecode.image import ImageError
from . import exits
from .inputs import checker_of, public_key, read, rejected

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an image; its signature is FILE.minisig")
    keys = "the file of a public key, or its text; repeated: one of them"
    parser.add_argument("--key", metavar="PUB", action="append", required=True, help=keys)


def execute(arguments: argparse.Namespace) -> int:
    """Print which key has signed an image, and the trusted comment; return 0. Raise `Exit`: 74 for a FILE that none of the keys
    has signed, or that is no image or a damaged one, 66 for a file or key that cannot be read, 2 for what is no key and the
    bytecode of another implementation, 1 where the package that verifies is not installed."""
    demand = Demand(None, [public_key(word) for word in arguments.key], arguments.file + SUFFIX)
    data = read(arguments.file)
    try:
        check_frame(data)
        checker_of(demand)(data)
    except ImageError as error:
        raise rejected(arguments.file, error) from None
    if not arguments.quiet:
        print(f"{arguments.file}: signed by the key {demand.key}")
        comment = demand.comment.replace("\t", "  ")
        print(f"trusted comment: {visible(comment)}")  # whoever signed it must not write to the terminal
    return exits.OK
