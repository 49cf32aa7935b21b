"""The standard library `std::` as rows of the built-in table, one module of this package per module of the library (L-7).

Hands on `STD_MODULES`, `STD_TYPES`, `std_module` and `std_row`. A module is loaded when the first program names it: its
rows then stand in `registry.STD`. Must not know: who performs the effects its rows name.
"""

from __future__ import annotations

from ..registry import STD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..registry import Row

STD_PREFIX = "std::"
STD_MODULES = (
    "budget", "call", "collections", "crypto", "csv", "date", "encoding", "env", "fmt", "fs", "http", "io", "json", "log", "math",
    "prompt", "regex", "string", "time", "url", "usage",
)  # fmt: skip
LIBRARY_MODULES = ("tools",)  # of which only the text of the library itself may call functions
# Types that a module offers besides its functions, under the names the language knows them by.
STD_TYPES: dict[str, tuple[str, ...]] = {
    "budget": ("BudgetLeft",),
    "collections": ("Set", "Queue", "Stack"),
    "http": ("HttpResponse",),
    "regex": ("RegexMatch",),
    "usage": ("ModelUsage",),
    "url": ("Url",),
    "date": ("DateTime",),
}


def std_module(module: str) -> dict[str, Row]:
    """The functions of `std::module` by name; empty for a module that does not exist."""
    if module not in (*STD_MODULES, *LIBRARY_MODULES):
        return {}
    from importlib import import_module

    import_module(f".{module}", __name__)
    return {name: row for (owner, name), row in STD.items() if owner == module}


def std_row(module: str, name: str) -> Row | None:
    """The function `std::module::name`."""
    return STD.get((module, name)) or std_module(module).get(name)
