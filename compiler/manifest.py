"""`Concerto.toml`: the manifest of a project, read and checked (O-9.1 to O-9.8).

Hands on `Manifest`, whose diagnostics stand at lines of the file. One reader per table, in `TABLES`. Must not know: who is
granted what it says, where sources are searched.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Callable
from typing import Any

from ..vm.builtins.capabilities import BY_KEY, GROUP_KEYS, Malformed
from .diagnostics import Diagnostics
from .resolver.spelling import did_you_mean
from .source import Source, Span

NAME = "Concerto.toml"
PROJECT_KEYS = ("name", "version", "entry")
# Tables of the language that this version does not read yet.
UNBUILT_TABLES = ("connections", "mcp", "pricing", "budgets", "memory", "stores", "embedders")


class Manifest:
    """What a manifest says: `entry`, the source path it names, `permissions`, a scope per capability key, and `agents`, the
    fields of `[agents.X]` by X. `folder` is the root of the project, without links."""

    def __init__(self, path: str) -> None:
        self.folder = os.path.dirname(os.path.realpath(path))
        self.diagnostics = Diagnostics()
        self.entry: str | None = None
        self.permissions: dict[str, tuple[str, ...] | bool] = {}
        self.agents: dict[str, dict[str, Any]] = {}
        self.source = Source(NAME, "")
        self._read(path)

    def _read(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self.source = Source(NAME, file.read().decode())
            tables = tomllib.loads(self.source.text)
        except OSError as error:
            self.report("E4004", None, f"{NAME} cannot be read: {error.strerror or error}")
        except UnicodeDecodeError as error:
            self.report("E4004", None, f"{NAME} is no UTF-8 at byte {error.start}")
        except tomllib.TOMLDecodeError as error:
            self._syntax_error(str(error))
        else:
            self._tables(tables)

    def _tables(self, tables: dict[str, Any]) -> None:
        for name, value in tables.items():
            if name in UNBUILT_TABLES:
                self.report("E4999", (name,), f"not built yet: [{name}] of {NAME}")
            elif name not in TABLES:
                self.report("E4001", (name,), f"{NAME} has no table `{name}`", did_you_mean(name, (*TABLES, *UNBUILT_TABLES)))
            elif not isinstance(value, dict):
                self.report("E4004", (name,), f"`{name}` is a table: write [{name}]")
            else:
                TABLES[name](self, value)

    def report(self, code: str, path: tuple[str, ...] | None, message: str, help: str | None = None) -> None:
        """`path` leads to the table or key that the message is about; None: the file as a whole."""
        start, end = place_of(self.source, path or ())
        self.diagnostics.report(code, Span(NAME, start, end), message, help=help)

    def _syntax_error(self, text: str) -> None:
        """The reader says `… (at line 3, column 5)` or `… (at end of document)`."""
        reason, _, place = text.removesuffix(")").rpartition(" (at ")
        words = place.replace(",", "").split()
        at = len(self.source.text)
        if words[:1] == ["line"]:
            at = self.source.line_starts[int(words[1]) - 1] + int(words[3]) - 1
        at = min(at, max(len(self.source.text) - 1, 0))
        self.diagnostics.report("E4004", Span(NAME, at, at + 1), f"{NAME} is no TOML: {reason or text}")


def _project(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if key not in PROJECT_KEYS:
            help = did_you_mean(key, PROJECT_KEYS)
            manifest.report("E4001", ("project", key), f"[project] has no key `{key}`", help)
        elif not isinstance(value, str):
            manifest.report("E4004", ("project", key), f"`{key}` of [project] is a string")
    for key in PROJECT_KEYS:
        if key not in table:
            manifest.report("E4002", ("project",), f"[project] lacks `{key}`")
    entry = table.get("entry")
    manifest.entry = entry if isinstance(entry, str) else None


def _permissions(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        place = ("permissions", key)
        if key == "tools":
            manifest.report("E4999", place, "not built yet: permissions.tools")
        elif key not in BY_KEY and key not in GROUP_KEYS:
            help = did_you_mean(key, (*BY_KEY, *GROUP_KEYS))
            manifest.report("E4001", place, f"[permissions] has no key `{key}`", help)
        elif not (value is True or (isinstance(value, list) and all(isinstance(item, str) for item in value))):
            manifest.report("E4004", place, f"`{key}` of [permissions] is an array of strings or true")
        else:
            for granted in GROUP_KEYS.get(key, (key,)):
                _grant(manifest, place, granted, value)


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


def _is_duration(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_command(value: str) -> bool:
    try:
        return bool(shlex.split(value))
    except ValueError:
        return False


# Keys of `[agents.X]`: what each holds, and in words (O-7.4 to O-7.8).
AGENT_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "transport": (lambda value: value == "stdio", '"stdio"'),
    "command": (lambda value: _is_text(value) and _is_command(value), "a string of words, their quotes closed"),
    "args": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "an array of strings"),
    "timeout": (_is_duration, "a number above 0"),
    "working_dir": (_is_text, "a string"),
    "env": (lambda value: isinstance(value, dict) and all(map(_is_text, value.values())), "a table of names of variables"),
    "params": (lambda value: isinstance(value, dict) and _is_json(value), "a table that JSON can hold"),
}


def _is_json(value: Any) -> bool:
    """Dates and infinities have no JSON form."""
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, (str, int)) or (isinstance(value, float) and value - value == 0)


def _agents(manifest: Manifest, table: dict[str, Any]) -> None:
    for name, fields in table.items():
        if not isinstance(fields, dict):
            manifest.report("E4004", ("agents", name), f"`{name}` of [agents] is a table: write [agents.{name}]")
            continue
        for key, value in fields.items():
            if key not in AGENT_KEYS:
                help = did_you_mean(key, AGENT_KEYS)
                manifest.report("E4001", ("agents", name, key), f"[agents.{name}] has no key `{key}`", help)
            elif not AGENT_KEYS[key][0](value):
                manifest.report("E4004", ("agents", name, key), f"`{key}` of [agents.{name}] is {AGENT_KEYS[key][1]}")
        if "command" not in fields:
            manifest.report("E4002", ("agents", name), f"[agents.{name}] lacks `command`")
        manifest.agents[name] = fields


TABLES: dict[str, Callable[[Manifest, dict[str, Any]], None]] = {
    "project": _project, "permissions": _permissions, "agents": _agents,
}  # fmt: skip


def place_of(source: Source, path: tuple[str, ...]) -> tuple[int, int]:
    """Where the last name of a path is written, as far as a look at the lines tells: the parser keeps no places."""
    if not path:
        return 0, 0
    table, key = path[0], path[-1]
    inside = len(path) == 1
    for start in source.line_starts:
        line = source.text[start:].partition("\n")[0]
        words = line.strip()
        if words.startswith("["):
            header = words.strip("[] \t\r").partition(".")[0].strip().strip("\"'")
            inside = header == table
            if inside and len(path) == 1:
                at = start + line.index(table)
                return at, at + len(table)
        elif inside and words.partition("=")[0].strip().strip("\"'").partition(".")[0].strip() == key:
            at = start + line.index(key)
            return at, at + len(key)
    return 0, 0


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
