"""`concerto keygen`: a new pair of keys for signatures of images, in minisign's form (O-9.71).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code, to
`main`. The secret key goes into a file that its owner alone can read, and nowhere else; what keys are is for
`runtime/trust/minisign.py`.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..runtime.trust.minisign import LibraryMissing, new_key, written_public_key, written_secret_key
from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SECRET, PUBLIC = ".key", ".pub"  # behind NAME


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=f"the files to write are NAME{SECRET}, which is secret, and NAME{PUBLIC}")
    parser.add_argument("--force", action="store_true", help="put them in place of files of these names")


def execute(arguments: argparse.Namespace) -> int:
    """Write the two files and print their names and the public key; return 0. Raise `Exit` (1) for a file that is there, without
    `--force`, for one that cannot be written, and where the package that signs is not installed: then neither is written."""
    paths = arguments.name + SECRET, arguments.name + PUBLIC
    there = [path for path in paths if os.path.lexists(path)]
    if there and not arguments.force:
        raise would_overwrite(" and ".join(there))
    for path in filter(os.path.isdir, there):
        raise exits.Exit(exits.FAILED, f"cannot write {path}: it is a folder")
    key = new_key()
    try:
        contents = written_secret_key(key), written_public_key(key.public)
    except LibraryMissing as missing:
        raise exits.Exit(exits.FAILED, str(missing)) from None
    write_both(paths, contents, force=arguments.force)
    if not arguments.quiet:
        text = contents[1].split(b"\n")[1].decode()
        print(f"wrote {paths[0]}, the secret key: who has it signs in your name; no password protects it")
        print(f"wrote {paths[1]}, the public key: {text}")
    return exits.OK


def would_overwrite(path: str) -> exits.Exit:
    """Return what ends the command (1) where a key would be lost."""
    return exits.Exit(exits.FAILED, f"{path} would be overwritten, and a lost key does not come back; --force does it")


def write_both(paths: tuple[str, str], contents: tuple[bytes, bytes], *, force: bool) -> None:
    """Write the secret file, which its owner alone can read from its first byte on, and the public one; with `force` by rename,
    in place of what is there. Raise `Exit` (1) for one that cannot be written, and without `force` for one that is there; then
    nothing of either is left, and what was there still is."""
    places = [f"{path}.{os.getpid()}.tmp" for path in paths] if force else list(paths)
    made: list[str] = []
    before = _content(paths[1]) if force else None
    try:
        for place, content, mode in zip(places, contents, (0o600, 0o644), strict=True):
            # Not by `open`: until a chmod others could read the file. Nothing that exists is opened, and no link followed.
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            made.append(place)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        for place, path in reversed(list(zip(places, paths, strict=True))) if force else ():  # the secret one last
            os.replace(place, path)
    except BaseException as error:  # Ctrl-C too
        if force and _content(paths[1]) == contents[1]:
            if before is None:
                made.append(paths[1])
            else:
                with suppress(OSError), open(paths[1], "wb") as file:
                    file.write(before)
        for place in made:
            with suppress(OSError):
                os.unlink(place)
        if isinstance(error, FileExistsError) and not force:
            raise would_overwrite(str(error.filename)) from None
        if isinstance(error, OSError):
            raise exits.Exit(exits.FAILED, f"cannot write {error.filename or paths[0]}: {error.strerror or error}") from None
        raise


def _content(path: str) -> bytes | None:
    """Return what a file holds, None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
