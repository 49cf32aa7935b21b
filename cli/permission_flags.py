"""The permission flags of O-4.18: `--allow-net=a.org,b.org:80`, bare for the whole capability.

Hands on `add_flags`, `words_of`, which prepares the words for argparse, `hint_of`, and `granted`. Must not know: verbs.
"""

from __future__ import annotations

from ..runtime.permissions import Permissions
from ..vm.builtins.capabilities import BY_KEY, CAPABILITIES, GROUPS, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

# A word of the shell holds no NUL, so nobody can write this by accident, as one writes `--allow-net=$UNSET`.
EVERYTHING = "\0"
FLAGS: dict[str, tuple[str, ...]] = {capability.flag: (capability.key,) for capability in CAPABILITIES} | GROUPS
WITHOUT_LIST = "--allow-all"


def add_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("permissions", "a comma list after =, or nothing for the whole capability")
    for capability in CAPABILITIES:
        _add(group, capability.flag, f"[={capability.scope},…]", capability.doc)
    _add(group, "--allow-fs", "[=PATH,…]", "both of the fs flags")
    _add(group, WITHOUT_LIST, "", "everything; takes no list")
    help = "take a tool, or one method of it, away"
    group.add_argument("--disable-tool", action="append", default=[], metavar="T[.m]", help=help)


def _add(group: Any, flag: str, metavar: str, doc: str) -> None:
    group.add_argument(flag, action="append", default=[], metavar=metavar, help=doc, type=_scope(flag))


def _scope(flag: str) -> Callable[[str], tuple[str, ...] | bool]:
    """Reads the value of a flag: True, or the texts of its list."""

    def read(value: str) -> tuple[str, ...] | bool:
        if value == EVERYTHING:
            return True
        if flag == WITHOUT_LIST:
            raise _refused("it takes no list")
        try:
            for scope in value.split(","):
                BY_KEY[FLAGS[flag][0]].check(scope)
        except Malformed as refused:
            raise _refused(str(refused)) from None
        return tuple(value.split(","))

    return read


def _refused(why: str) -> Exception:
    from argparse import ArgumentTypeError  # a right value starts without it

    return ArgumentTypeError(why)


def words_of(words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The words for the parser, and what is set beside it: behind `--` stand the arguments of the program. A bare flag gets its
    value here, so that argparse does not take the next word for it."""
    end = words.index("--") if "--" in words else len(words)
    spelled_out = [f"{word}={EVERYTHING}" if word in FLAGS else word for word in words[:end]]
    return spelled_out, {"program_arguments": list(words[end + 1 :])}


def hint_of(words: Sequence[str]) -> str:
    """For `--allow-net a.org`: the word after a bare flag is no list of it, which shows when the word turns out to be no file."""
    for flag, word in zip(words, words[1:], strict=False):
        if flag == "--":
            break
        if flag in FLAGS and not word.startswith("-"):
            list_form = "" if flag == WITHOUT_LIST else f"; write {flag}={word} if that was meant"
            return f" ({flag} takes no word behind it{list_form})"
    return ""


def granted(arguments: argparse.Namespace) -> Permissions:
    """What the flags of a command line grant."""
    made = Permissions()
    for flag, keys in FLAGS.items():
        for scope in getattr(arguments, flag.removeprefix("--").replace("-", "_")):
            for key in keys:
                made.grant(key, scope)
    made.disabled = tuple(name for names in arguments.disable_tool for name in names.split(","))
    return made
