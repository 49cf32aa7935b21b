"""`concerto sign`: the signature of an image, in a file beside it (O-9.72, G-3.6).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. Keys and signatures are for `runtime/trust/minisign.py`; here are the files, and where the password of a key comes from.
"""

from __future__ import annotations

import os
import sys
import time

from ..runtime.trust.minisign import MOST_BYTES, SUFFIX, LibraryMissing, MinisignError, SecretKey, read_secret_key, sign
from . import exits
from .compile import write
from .inputs import is_image, program_of, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

PASSWORD = "CONCERTO_KEY_PASSWORD"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="an image; the signature is FILE.minisig")
    password = f"the file of a secret key; {PASSWORD} has the password of an encrypted one, else it is asked for"
    parser.add_argument("--key", metavar="KEY", required=True, help=password)
    parser.add_argument("--comment", metavar="TEXT", help="the trusted comment, which is signed too; default: time and name")


def execute(arguments: argparse.Namespace) -> int:
    """Sign an image and print the name of the signature's file, in place of one that was there; return 0. Raise `Exit`: 66 for a
    file or key that cannot be read, 2 for a FILE that is no image, for what is no key, a wrong password and a comment that is no
    line of text, 74 for an image that is refused, 1 for a signature that cannot be written, and where the package that signs is
    not installed."""
    file = arguments.file
    data = b"" if file == "-" else read(file)
    if not is_image(data):
        raise exits.Exit(exits.USAGE, f"{file} is no image; `concerto compile` writes one")
    program_of(file, data)  # what nobody could run is not signed
    comment = arguments.comment
    if comment is None:
        comment = f"timestamp:{int(time.time())}\tfile:{os.path.basename(file)}\thashed"
    try:
        key = secret_key(arguments.key)
        signature = sign(key, data, comment)
    except LibraryMissing as missing:
        raise exits.Exit(exits.FAILED, str(missing)) from None
    except MinisignError as refused:
        raise exits.Exit(exits.USAGE, str(refused)) from None
    write(file + SUFFIX, signature)
    if not arguments.quiet:
        print(f"wrote {file + SUFFIX}")
    return exits.OK


def secret_key(path: str) -> SecretKey:
    """Return the secret key in a file. Raise MinisignError as `read_secret_key`, with the path in front; LibraryMissing; and
    `Exit`: 66 for a file that cannot be read, 2 where there is nobody to ask for a password."""
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise exits.Exit(exits.NO_INPUT, f"cannot read {path}: {error.strerror or error}") from None
    try:
        return read_secret_key(content, lambda: password_of(path))
    except MinisignError as refused:
        raise MinisignError(f"{path}: {refused}") from None


def password_of(path: str) -> str:
    """Return the password of an encrypted key: that of the variable, else what a person answers. Raise `Exit` (2) without
    both."""
    if PASSWORD in os.environ:
        return os.environ[PASSWORD]
    if sys.stdin is None or not sys.stdin.isatty():
        raise exits.Exit(exits.USAGE, f"{path} is encrypted: set {PASSWORD} to its password")
    from getpass import getpass

    try:
        return getpass(f"password of {path}: ")
    except EOFError:
        raise exits.Exit(exits.USAGE, f"no password for {path}") from None
