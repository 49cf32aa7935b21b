"""Imports as other languages write them, and the `use` that is meant (L-2.6.8).

Hands on `import_help`. Must not know: where the statement stands, what modules offer.
"""

from __future__ import annotations

import re

from ...vm.builtins.std import STD_MODULES, std_module
from ..foreign_modules import MODULES

_FROM = re.compile(r"from\s+(?P<path>[\w.]+)\s+import\s+(?P<names>[\w, ]+)")
_NAMED = re.compile(r"import\s+(?:type\s+)?\{(?P<names>[^}]*)\}\s*from\s*['\"](?P<path>[^'\"]+)['\"]")
_DEFAULT = re.compile(r"import\s+(?:\*\s+as\s+)?\w+\s+from\s*['\"](?P<path>[^'\"]+)['\"]")
_PLAIN = re.compile(r"(?:import|include|require|using|from)\b\W*(?P<path>[\w./:-]+)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def import_help(line: str) -> str:
    """For the line of an import."""
    found = _FROM.search(line) or _NAMED.search(line) or _DEFAULT.search(line) or _PLAIN.search(line)
    path = (found["path"] if found else None) or ""
    names = _NAME.findall(found["names"]) if found and "names" in found.groupdict() else []
    own = path.startswith(".")
    segments = [segment for segment in re.split(r"[./:]+", path) if _NAME.fullmatch(segment)]
    if not segments:
        return "write `use std::json;`, one for each module"
    if segments[0] == "std":
        segments = segments[1:] or ["json"]
    module = segments[0] if segments[0] in STD_MODULES else MODULES.get(segments[0])
    if module is not None and not own:
        if names and all(name in std_module(module) for name in names):
            return f"write `use std::{module}::{_listed(names)};`"
        return f"write `use std::{module};`" + ("" if module in segments else f", and call `{module}::…`")
    last = segments[-1]
    if own or names:
        return f"write `use {last}::{_listed(names)};`, for a file `{last}.conc` beside this one"
    return f"the library has no `{last}`; a file `{last}.conc` beside this one is called as `{last}::…` without any import"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}" if names else "*"
