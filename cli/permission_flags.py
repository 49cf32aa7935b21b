"""The permission flags of O-4.18: `--allow-net=a.org,b.org:80`, bare for the whole capability.

Hands on `add_flags`, `spelled_out`, which prepares the words for argparse, and `granted`. Must not know: verbs.
"""

from __future__ import annotations

from ..runtime.permissions import Permissions
from ..vm.builtins.capabilities import CAPABILITIES, GROUPS, Malformed
from . import exits

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

# A word of the shell holds no NUL, so nobody can write this by accident, as one writes `--allow-net=$UNSET`.
EVERYTHING = "\0"
FLAGS: dict[str, tuple[str, ...]] = {capability.flag: (capability.key,) for capability in CAPABILITIES} | GROUPS
BARE_ONLY = "--allow-all"


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("permissions", "a comma list after =, or nothing for the whole capability")
    for capability in CAPABILITIES:
        group.add_argument(capability.flag, action="append", metavar=f"{capability.scope},…", help=capability.doc)
    group.add_argument("--allow-fs", action="append", metavar="PATH,…", help="both of the fs flags")
    group.add_argument(BARE_ONLY, action="append", metavar="", help="everything; takes no list")


def spelled_out(words: Sequence[str]) -> list[str]:
    """Gives a bare flag its value, so that argparse does not take the next word for it."""
    return [f"{word}={EVERYTHING}" if word in FLAGS else word for word in words]


def granted(arguments: argparse.Namespace) -> Permissions:
    """What the flags of a command line grant."""
    made = Permissions()
    for flag, keys in FLAGS.items():
        for value in getattr(arguments, flag.removeprefix("--").replace("-", "_")) or ():
            if flag == BARE_ONLY and value != EVERYTHING:
                raise exits.Exit(exits.USAGE, f"{flag} takes no list")
            try:
                for key in keys:
                    made.grant(key, True if value == EVERYTHING else value.split(","))
            except Malformed as refused:
                raise exits.Exit(exits.USAGE, f"{flag}: {refused}") from None
    return made
