"""The standard library `std::` as rows of the built-in table, by modules of the library (L-7).

Hands on `STD_MODULES`, `STD_TYPES`, `std_module` and `std_row` to the compiler (resolver, checker, code generator, hints) and
the language server; the compiler takes `STD_PREFIX`, `takes_receiver`, `methods_named` and `built_in_row` too; `row_of`,
`performed_row`, `ARITY` and `PERFORMED` to the linker, which hands the last two to the verifier; `row_of` and `built_in_row` also
to the translated tier (`jit/`).

A row is one built-in with its signature and its body; none is written here. The file with the rows of a module is imported when
the first program names the module, unless the package imports it anyway: its rows then stand in `registry.STD`. A new module
needs its name in `STD_MODULES` and the name of its file in `FILES`.
"""

from __future__ import annotations

from .registry import ASSOCIATED, FUNCTIONS, METHODS, STD, Row, lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


STD_PREFIX = "std::"
STD_MODULES = (
    "budget", "call", "collections", "crypto", "csv", "date", "encoding", "env", "fmt", "fs", "http", "io", "json", "log", "math",
    "media", "prompt", "regex", "string", "text", "time", "url", "usage",
)  # fmt: skip
LIBRARY_MODULES = ("tools",)  # of which only the text of the library itself may call functions
FILES = {  # the module of this package with the rows of each module of the library
    **dict.fromkeys(("budget", "call", "crypto", "env", "fs", "http", "io", "log", "time", "tools", "usage"), "host"),
    **{name: name for name in ("csv", "date", "json", "media", "regex", "text", "url")},
    "collections": "maps", "encoding": "bytes", "fmt": "formats", "math": "numbers", "prompt": "formats", "string": "strings",
}
# Types that a module offers besides its functions, under the names the language knows them by.
STD_TYPES: dict[str, tuple[str, ...]] = {
    "budget": ("BudgetLeft",),
    "collections": ("Set", "Queue", "Stack"),
    "http": ("HttpResponse",),
    "regex": ("RegexMatch",),
    "usage": ("ModelUsage",),
    "url": ("Url",),
    "date": ("DateTime",),
    "media": ("Media",),
    "text": ("Passage",),
}


def std_module(module: str) -> dict[str, Row]:
    """Return a new dict of the functions of `std::module` by name; {} for a module that does not exist. `module` is the name
    without `std::`. Imports the file with its rows, which fills `registry.STD`."""
    if module not in (*STD_MODULES, *LIBRARY_MODULES):
        return {}
    from importlib import import_module

    import_module(f".{FILES[module]}", __package__)
    return {name: row for (owner, name), row in STD.items() if owner == module}


def std_row(module: str, name: str) -> Row | None:
    """Return the function `std::module::name`, None when there is none. Imports as `std_module` does."""
    return STD.get((module, name)) or std_module(module).get(name)


# ----------------------------------------------------------------
# Built-ins as the image names them: (receiver kind, method), ("", function), (type, associated function) and ("std::module",
# function).
#
# `ARITY` and `PERFORMED` are the verifier's tables of argument counts. Rows are parsed only when asked for.


def row_of(receiver: str, name: str) -> Row | None:
    """Return the row that an image may call with CALL_BUILTIN: one of the kind `python`. None for any other name."""
    row = built_in_row(receiver, name)
    return row if row is not None and row.kind == "python" else None


def performed_row(receiver: str, name: str) -> Row | None:
    """Return the row that an image may call with CALL_HOST: one of an effect. None for any other name."""
    row = built_in_row(receiver, name)
    return row if row is not None and row.kind == "effect" else None


def built_in_row(receiver: str, name: str) -> Row | None:
    """Return the row of any built-in but the hidden methods by these two names, None when there is none."""
    if receiver.startswith(STD_PREFIX):
        return std_row(receiver.removeprefix(STD_PREFIX), name)
    if receiver:
        return lookup(receiver, name) or ASSOCIATED.get((receiver, name))
    return FUNCTIONS.get(name)


def takes_receiver(receiver: str, name: str) -> bool:
    """Return whether a built-in of an image is a method."""
    return bool(receiver) and not receiver.startswith(STD_PREFIX) and lookup(receiver, name) is not None


def methods_named(name: str) -> Iterator[tuple[str, Row]]:
    """Yield (receiver kind, row) of every method of that name."""
    for (receiver, method), row in METHODS.items():
        if method == name:
            yield receiver, row


class Arity(dict[tuple[str, str], int]):
    """Numbers of arguments, receiver and schema included, of the built-ins that `find` returns, by (receiver, name) as images
    name them. An entry is computed when it is first asked for, so `in`, `[]` and `get` are to be used and no walk over the dict.
    `[]` raises KeyError for a name that `find` does not know."""

    def __init__(self, find: Callable[[str, str], Row | None]) -> None:
        super().__init__()
        self.find = find

    def __contains__(self, key: object) -> bool:
        return isinstance(key, tuple) and self.find(*key) is not None

    def __missing__(self, key: tuple[str, str]) -> int:
        row = self.find(*key)
        if row is None:
            raise KeyError(key)
        self[key] = len(row.parameters) + takes_receiver(*key) + row.takes_schema
        return self[key]

    def get(self, key: tuple[str, str], default: int = 0) -> int:  # type: ignore[override]
        """Return the number for a key, `default` for a name that `find` does not know."""
        return self[key] if key in self else default  # noqa: SIM401 -- `get` itself


ARITY = Arity(row_of)
PERFORMED = Arity(performed_row)
