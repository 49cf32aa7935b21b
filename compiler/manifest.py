"""`Concerto.toml`: the manifest of a project, read and checked (O-9.1 to O-9.8).

Hands on `Manifest`, whose diagnostics stand at lines of the file. One reader per table, in `TABLES`. Must not know: who is
granted what it says, where sources are searched.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from typing import Any

from ..vm.builtins.capabilities import BY_KEY, GROUP_KEYS, Malformed
from .checker.fields import CONNECTION, CONNECTION_FIELDS, CONNECTION_OBJECTS, DURATION, EITHER_OBJECTS, Rule, number, whole
from .diagnostics import Diagnostics
from .manifest_help import example, known
from .memory_tables import MemoryTables
from .process_tables import read_agents, read_servers
from .source import Source, Span
from .store_tables import read_embedders, read_memory, read_stores
from .types import FLOAT, INT, STRING, Type

NAME = "Concerto.toml"
PROJECT_KEYS = ("name", "version", "entry")
CONNECTION_KEYS = tuple(field for field in CONNECTION_FIELDS if field != "api_key")  # which stays outside
PRICES = ("input_per_million", "output_per_million")
CACHE_PRICES = ("cached", "cache_write")
BUDGETS = {
    "steps": whole(1), "depth": whole(1), "seconds": DURATION, "tokens": whole(1), "cost": number(0, above=True),
    "model_calls": whole(1),
}  # fmt: skip


class Manifest:
    """What a manifest says: `entry`, the source path it names, `permissions`, a scope per capability key, `tools`, which of
    them may be called, the fields of each of `connections`, `agents` and `servers`, `memory_tables`, `pricing` as [input, output]
    per model id, with [cached, cache_write] behind where one is set, `budgets`.
    `folder` is the root of the project, without links."""

    def __init__(self, path: str) -> None:
        self.folder = os.path.dirname(os.path.realpath(path))
        self.diagnostics = Diagnostics()
        self.entry: str | None = None
        self.permissions: dict[str, tuple[str, ...] | bool] = {}
        self.tools: dict[str, tuple[str, ...] | bool] = {}
        self.agents: dict[str, dict[str, Any]] = {}
        self.servers: dict[str, dict[str, Any]] = {}
        self.connections: dict[str, dict[str, object]] = {}
        self.pricing: dict[str, list[float | None]] = {}
        self.budgets: dict[str, object] = {}
        self.memory_tables = MemoryTables()
        self.source = Source(NAME, "")
        self._read(path)

    def _read(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self.source = Source(NAME, file.read().decode())
            tables = tomllib.loads(self.source.text)
        except OSError as error:
            self.report("E4004", None, f"{NAME} cannot be read: {error.strerror or error}", "make it a file that may be read")
        except UnicodeDecodeError as error:
            self.report("E4004", None, f"{NAME} is no UTF-8 at byte {error.start}", "save the file as UTF-8")
        except tomllib.TOMLDecodeError as error:
            self._syntax_error(str(error))
        else:
            self._tables(tables)

    def _tables(self, tables: dict[str, Any]) -> None:
        for name, value in tables.items():
            if name not in TABLES:
                self.report("E4001", (name,), f"{NAME} has no table `{name}`", known("tables", name, [*TABLES]))
            elif not isinstance(value, dict):
                self.report("E4004", (name,), f"`{name}` is a table: write [{name}]")
            else:
                TABLES[name](self, value)

    def report(self, code: str, path: tuple[str, ...] | None, message: str, help: str | None = None) -> None:
        """`path` leads to the table or key that the message is about; None: the file as a whole."""
        start, end = place_of(self.source, path or ())
        self.diagnostics.report(code, Span(NAME, start, end), message, help=help or example(path or ()))

    def _syntax_error(self, text: str) -> None:
        """The reader says `… (at line 3, column 5)` or `… (at end of document)`."""
        reason, _, place = text.removesuffix(")").rpartition(" (at ")
        words = place.replace(",", "").split()
        at = len(self.source.text)
        if words[:1] == ["line"]:
            at = self.source.line_starts[int(words[1]) - 1] + int(words[3]) - 1
        at = min(at, max(len(self.source.text) - 1, 0))
        help = 'a line is `key = value`, a string stands in quotes: `entry = "main.conc"`'
        self.diagnostics.report("E4004", Span(NAME, at, at + 1), f"{NAME} is no TOML: {reason or text}", help=help)


def _project(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if key not in PROJECT_KEYS:
            help = known("keys", key, PROJECT_KEYS)
            manifest.report("E4001", ("project", key), f"[project] has no key `{key}`", help)
        elif not isinstance(value, str):
            manifest.report("E4004", ("project", key), f"`{key}` of [project] is a string")
    for key in PROJECT_KEYS:
        if key not in table:
            manifest.report("E4002", ("project",), f"[project] lacks `{key}`", example(("project", key)))
    entry = table.get("entry")
    manifest.entry = entry if isinstance(entry, str) else None
    if manifest.memory_tables.namespace is None and isinstance(table.get("name"), str):
        manifest.memory_tables.namespace = table["name"]  # M-7.1


def _permissions(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        place = ("permissions", key)
        if key == "tools":
            _tools(manifest, value)
        elif key not in BY_KEY and key not in GROUP_KEYS:
            help = known("keys", key, (*BY_KEY, *GROUP_KEYS, "tools"))
            manifest.report("E4001", place, f"[permissions] has no key `{key}`", help)
        elif not (value is True or (isinstance(value, list) and all(isinstance(item, str) for item in value))):
            manifest.report("E4004", place, f"`{key}` of [permissions] is an array of strings or true")
        else:
            for granted in GROUP_KEYS.get(key, (key,)):
                _grant(manifest, place, granted, value)


def _tools(manifest: Manifest, table: Any) -> None:
    """`T = false`, or the methods that may be called (O-4.20)."""
    if not isinstance(table, dict):
        manifest.report("E4004", ("permissions", "tools"), "`tools` of [permissions] is a table: `{ T = false }`")
        return
    for name, value in table.items():
        if isinstance(value, bool):
            manifest.tools[name] = value
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            manifest.tools[name] = tuple(value)
        else:
            place = ("permissions", "tools", name)
            manifest.report("E4004", place, f"`{name}` of permissions.tools is true, false or an array of names of methods")


def _grant(manifest: Manifest, place: tuple[str, ...], key: str, value: Any) -> None:
    """Paths are relative to the manifest, wherever the program is started."""
    held = manifest.permissions.get(key, ())
    if value is True or isinstance(held, bool):
        manifest.permissions[key] = True
        return
    for scope in value:
        try:
            BY_KEY[key].check(scope)
        except Malformed as refused:
            manifest.report("E4004", place, f"`{key}` of [permissions]: {refused}")
            return
    paths = BY_KEY[key].scope == "PATH"
    manifest.permissions[key] = (*held, *(os.path.join(manifest.folder, scope) if paths else scope for scope in value))


def _connections(manifest: Manifest, table: dict[str, Any]) -> None:
    """`[connections.N]`: the fields of a connection; keys stay outside (O-9.3)."""
    for name, fields in table.items():
        where = f"[connections.{name}]"
        if not isinstance(fields, dict):
            manifest.report("E4004", ("connections", name), f"`{name}` is a table: write {where}")
            continue
        held = manifest.connections[name] = {}
        for key, value in fields.items():
            if key == "api_key":
                help = 'write `api_key_env = "NAME"`; the key stays outside'
                manifest.report("E4005", ("connections", name, key), f"{where} holds a key", help)
            elif _fits(manifest, ("connections", name, key), where, key, value):
                held[key] = value


def _fits(manifest: Manifest, place: tuple[str, ...], where: str, key: str, value: Any) -> bool:
    """Whether a field of a connection is known and holds what it may; reports it otherwise."""
    if key in CONNECTION_OBJECTS or (key in EITHER_OBJECTS and isinstance(value, dict)):
        return _object_fits(manifest, place, where, key, value)
    if key == "headers":
        legal = isinstance(value, dict) and all(isinstance(v, str) or _is_variable(v) for v in value.values())
        words = 'a table of strings or `{ env = "NAME" }`'
    elif key in CONNECTION:
        legal, words = _holds(CONNECTION[key], value), CONNECTION[key].words
    else:
        manifest.report("E4001", place, f"{where} has no key `{key}`", known("keys", key, CONNECTION_KEYS))
        return False
    if not legal:
        manifest.report("E4004", place, f"`{key}` of {where} is {words}")
    return legal


def _object_fits(manifest: Manifest, place: tuple[str, ...], where: str, key: str, value: Any) -> bool:
    rules = CONNECTION_OBJECTS.get(key) or EITHER_OBJECTS[key]
    if not isinstance(value, dict):
        manifest.report("E4004", place, f"`{key}` of {where} is a table")
        return False
    for inner, held in value.items():
        if inner not in rules:
            manifest.report("E4001", place, f"`{key}` of {where} has no key `{inner}`", known("keys", inner, [*rules]))
        elif not _holds(rules[inner], held):
            manifest.report("E4004", place, f"`{inner}` of `{key}` of {where} is {rules[inner].words}")
    return all(inner in rules and _holds(rules[inner], held) for inner, held in value.items())


def _is_variable(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["env"] and isinstance(value["env"], str)


def _holds(rule: Rule, value: Any) -> bool:
    """Whether a TOML value is of the type of a rule and within it."""
    kinds: dict[Type, tuple[type, ...]] = {STRING: (str,), INT: (int,), FLOAT: (int, float)}
    kind = kinds.get(rule.type, (list,) if str(rule.type).startswith("Array") else (dict,))
    inner = str if "String" in str(rule.type) else object
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    plain = isinstance(value, kind) and not isinstance(value, bool)
    return plain and all(isinstance(item, inner) for item in items) and rule.legal(value)


def _pricing(manifest: Manifest, table: dict[str, Any]) -> None:
    """`[pricing."ID"]`: the price of a million tokens in and out (O-1.131), cached and written to a cache (O-1.221)."""
    for model, prices in table.items():
        where = f'[pricing."{model}"]'
        if not isinstance(prices, dict):
            manifest.report("E4004", ("pricing", model), f"`{model}` is a table: write {where}")
            continue
        for key in prices:
            if key not in PRICES + CACHE_PRICES:
                keys = known("keys", key, PRICES + CACHE_PRICES)
                manifest.report("E4001", ("pricing", model, key), f"{where} has no key `{key}`", keys)
            elif key in CACHE_PRICES and not _holds(number(0), prices[key]):
                manifest.report("E4004", ("pricing", model, key), f"`{key}` of {where} is {number(0).words}")
        for key in PRICES:
            if key not in prices:
                manifest.report("E4002", ("pricing", model), f"{where} lacks `{key}`", example(("pricing", model, key)))
            elif not _holds(number(0), prices[key]):
                manifest.report("E4004", ("pricing", model, key), f"`{key}` of {where} is {number(0).words}")
        if not manifest.diagnostics.has_errors:
            manifest.pricing[model] = [float(prices[key]) for key in PRICES]
            if any(key in prices for key in CACHE_PRICES):
                manifest.pricing[model] += [float(prices[key]) if key in prices else None for key in CACHE_PRICES]


def _budgets(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        place = ("budgets", key)
        if key not in BUDGETS:
            manifest.report("E4001", place, f"[budgets] has no key `{key}`", known("keys", key, [*BUDGETS]))
        elif not _holds(BUDGETS[key], value):
            manifest.report("E4004", place, f"`{key}` of [budgets] is {BUDGETS[key].words}")
        else:
            manifest.budgets[key] = value


def _agents(manifest: Manifest, table: dict[str, Any]) -> None:
    manifest.agents = read_agents(table, manifest.report)


def _mcp(manifest: Manifest, table: dict[str, Any]) -> None:
    manifest.servers = read_servers(table, manifest.report)


def _stores(manifest: Manifest, table: dict[str, Any]) -> None:
    read_stores(manifest.memory_tables, table, manifest.report)


def _embedders(manifest: Manifest, table: dict[str, Any]) -> None:
    read_embedders(manifest.memory_tables, table, manifest.report)


def _memory(manifest: Manifest, table: dict[str, Any]) -> None:
    read_memory(manifest.memory_tables, table, manifest.report)


TABLES: dict[str, Callable[[Manifest, dict[str, Any]], None]] = {
    "project": _project, "permissions": _permissions, "connections": _connections, "pricing": _pricing, "budgets": _budgets,
    "agents": _agents, "mcp": _mcp, "stores": _stores, "embedders": _embedders, "memory": _memory,
}  # fmt: skip


def place_of(source: Source, path: tuple[str, ...]) -> tuple[int, int]:
    """Where the last name of a path is written, as far as a look at the lines tells: the parser keeps no places. What stands in
    no line of its own is at what holds it."""
    if not path:
        return 0, 0
    key, inside = path[-1], len(path) == 1
    for start in source.line_starts:
        line = source.text[start:].partition("\n")[0]
        words = line.strip()
        if words.startswith("["):
            header = _names(words.partition("]")[0])
            inside = header[:1] == [path[0]] if len(path) < 3 or len(header) == 1 else header == [*path[:2]]
            if (inside and len(path) == 1) or (len(path) > 1 and header == [*path]):
                at = start + (line.index(key) if len(path) == 1 else line.rindex(key))
                return at, at + len(key)
        elif inside and _names(words.partition("=")[0])[:1] == [key]:
            at = start + line.index(key)
            return at, at + len(key)
    return place_of(source, path[:-1])


_NAME_OF_A_KEY = re.compile(r"""[^\s."'\[\]]+|"[^"]*"|'[^']*'""")


def _names(text: str) -> list[str]:
    """The names of `a."b.c"`."""
    return [name.strip("\"'") for name in _NAME_OF_A_KEY.findall(text)]


def find_manifest(folder: str) -> str | None:
    """The path of the first manifest in a directory or above it (O-9.1)."""
    while True:
        path = os.path.join(folder, NAME)
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
