"""Helps for functions of the library called without their import, or under the names other languages give them (L-4.1.5).

Must not know: scopes, what a name denotes.
"""

from __future__ import annotations

from ...vm.builtins.std import STD_MODULES, STD_TYPES, std_module
from ..foreign_modules import MODULES
from .spelling import listed, nearest

# Their functions, by module.
MEMBERS: dict[str, dict[str, str]] = {
    "json": {
        **dict.fromkeys(("loads", "load", "decode", "from_str"), "parse"),
        **dict.fromkeys(("dumps", "dump", "encode"), "stringify"),
    },
    "fs": {
        **dict.fromkeys(("read", "read_to_string", "read_text", "readFile", "readFileSync", "open"), "read_file"),
        **dict.fromkeys(("write", "write_text", "writeFile", "writeFileSync", "create"), "write_file"),
        **dict.fromkeys(("append", "appendFile"), "append_file"),
        **dict.fromkeys(("remove", "delete", "unlink"), "remove_file"),
        **dict.fromkeys(("read_dir", "listdir", "readdir", "list"), "list_dir"),
        **dict.fromkeys(("size", "stat"), "file_size"),
        **dict.fromkeys(("is_file", "existsSync"), "exists"),
    },
    "env": {**dict.fromkeys(("var", "getenv"), "get"), **dict.fromkeys(("environ", "env"), "get"), "vars": "all", "argv": "args"},
    "regex": {**dict.fromkeys(("match", "search", "test"), "is_match"), "findall": "find_all", "sub": "replace"},
    "time": {"time": "now_ms"},
    "io": {**dict.fromkeys(("readline", "input", "read", "stdin"), "read_line"), "read_to_string": "read_all"},
    "math": {"randint": "random_int", "ceiling": "ceil"},
    "fmt": {**dict.fromkeys(("Sprintf", "sprintf"), "format")},
    "string": {
        **dict.fromkeys(("Split",), "split"), "Join": "join", "Contains": "contains", "Replace": "replace",
        **dict.fromkeys(("ToUpper", "ToLower", "TrimSpace"), "trim"),
    },
}


# What is no function here, and why none is needed.
_EXIT = 'return from `main`; for a failure `return Err(RuntimeError::new("…"))`'
WITHOUT: dict[tuple[str, str], str] = {
    **dict.fromkeys((("io", "flush"), ("io", "stdout")), "leave it out: what is printed goes out at once"),
    **dict.fromkeys((("env", "exit"), ("env", "abort"), ("process", "exit"), ("process", "abort")), _EXIT),
    **dict.fromkeys(
        (("math", name) for name in ("choice", "sample")), "write `xs[std::math::random_int(0, xs.len() - 1)]` for one of `xs`"
    ),
}


def library_help(head: str, member: str) -> str | None:
    """For `head::member` or `head.member` where `head` is not declared."""
    module = head if head in STD_MODULES else MODULES.get(head)
    if module is None:
        return None
    if (module, member) in WITHOUT:
        return WITHOUT[module, member]
    known = _member(module, member)
    call = f"`{module}::{known}(…)`" if known is not None else f"`{module}::…`"
    offers = "" if known is not None else f"; its {offers_help(module, member)}"
    return f"add `use std::{module};` and write {call}{offers}"


def offers_help(module: str, member: str) -> str | None:
    """For a function that a module does not have, and for a module that the library does not have."""
    if (module, member) in WITHOUT:
        return WITHOUT[module, member]
    known = _member(module, member)
    if known is not None:
        return f"use `{known}`"
    if not module:
        return listed("modules", STD_MODULES)
    return listed("functions", (*std_module(module), *STD_TYPES.get(module, ())), like=member) if module in STD_MODULES else None


def _member(module: str, name: str) -> str | None:
    """The function of this name here, in other languages, or spelled nearly so."""
    functions = std_module(module)
    if name in functions:
        return name
    elsewhere = MEMBERS.get(module, {}).get(name)
    if elsewhere is not None:
        return elsewhere
    return nearest(name, functions)
