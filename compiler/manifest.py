"""`Concerto.toml`, the manifest of a project, read and checked (O-9.1 to O-9.8).

Hands on `Manifest` to `project`, the pipeline, the checker, the API and the command line; `MemoryTables` to `project` and the
checker; `has_words` and WORDS to the checker of MCP servers. What is wrong with the file, also that it cannot be read, becomes
a diagnostic at its place in the file, and nothing is raised: E4001 for an unknown table or key, E4002 for a missing key, E4004
for a wrong value, E4005 for a key of a provider that stands in the file; in the defaults of memories E4502 and E4514. One
function for each table of the file stands in `TABLES`: a new table is a row there, a new key a row of the table's keys, with an
example in `hints/manifest.py`. What the permissions of a manifest allow is decided by the runtime.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..vm.builtins.capabilities import BY_KEY, GROUP_KEYS, Malformed
from ..vm.declaration_fields import (
    CONNECTION,
    HOSTED,
    KEY_SOURCE,
    MCP,
    OBJECT,
    OTHER_PRICES,
    PRICES,
    PROCESS,
    WITH_UNIT,
    Field,
    as_held,
    milliseconds,
    named,
    number,
    one_of,
    twice,
    whole,
)
from ..vm.memory_steps import (
    COUNT,
    DURATION,
    EVICT,
    FLAG,
    FROM,
    HOLE,
    REDACTOR,
    SHARE,
    SOME,
    STEPS,
    STORE_KINDS,
    SUMMARY,
    TEXT,
    Argument,
)
from ..vm.providers import PROVIDERS
from .diagnostics import Diagnostics
from .hints.manifest import example, suggestion
from .manifest_file import NAME
from .source import Source, Span

# What a manifest says of memories.

DURABLE = "durable"
BUILT_IN: dict[str, dict[str, Any]] = {DURABLE: {"kind": "sqlite"}}
EMBEDDERS: dict[str, dict[str, Any]] = {"offline": {"kind": "offline"}}


@dataclass(slots=True)
class MemoryTables:
    """What a manifest says of memories (M-2.12): `stores` and `embedders` have the fields by name; `defaults` has, by step,
    what the step of a declaration holds when it is left out; `namespace` is that of stored keys: the one of `[memory]`,
    else the name of the project, None for the program's name (M-7.1)."""

    stores: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(BUILT_IN))
    defaults: dict[str, dict[str, Any]] = field(default_factory=dict)
    namespace: str | None = None
    embedders: dict[str, dict[str, Any]] = field(default_factory=lambda: dict(EMBEDDERS))
    readable: bool = True  # False: the manifest could not be read, and may hold any table


# `[agents.X]` and `[mcp.N]` (O-7.4 to O-7.8, O-4.37 to O-4.41).

# Called with code, the names that lead to the table or key (None: the whole file), message, help.
Report = Callable[[str, tuple[str, ...] | None, str, str | None], None]


def has_words(command: str) -> bool:
    """Return whether a command without `args` beside it can be split into words, at least one (O-4.38)."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


WORDS = "a string of words, their quotes closed, where `args` is absent"


def read_agents(table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    """Return the legal fields of each connector of `[agents.X]` by its name, also a `command` that cannot be split; report the
    others, such a `command`, and a connector without `command` (O-7.4)."""
    connectors = _read("agents", PROCESS, table, report)
    for name, fields in connectors.items():
        if "command" not in table[name]:
            report("E4002", ("agents", name), f"[agents.{name}] lacks `command`", example(("agents", name, "command")))
        elif "command" in fields and "args" not in table[name] and not has_words(fields["command"]):
            report("E4004", ("agents", name, "command"), f"`command` of [agents.{name}] is {WORDS}", None)
    return connectors


def read_servers(table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    """Return the legal fields of each MCP server of `[mcp.N]` by its name; report the others. What a server must have, and
    what is split, depends on its declaration and is checked there."""
    return _read("mcp", MCP, table, report)


def _read(section: str, keys: Mapping[str, Field], table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    """Return the legal fields by name for the tables below `section`, whose keys are rows of declaration fields."""
    tables: dict[str, dict[str, Any]] = {}
    for name, fields in table.items():
        where = f"[{section}.{name}]"
        if not isinstance(fields, dict):
            report("E4004", (section, name), f"`{name}` is a table: write {where}", None)
            continue
        legal = tables[name] = {}
        for key, stated in fields.items():
            if key not in keys:
                report("E4001", (section, name, key), f"{where} has no key `{key}`", suggestion("keys", key, [*keys]))
                continue
            value = as_held(keys[key], stated)
            if not keys[key].takes(value):
                report("E4004", (section, name, key), f"`{key}` of {where} is {keys[key].says}", None)
            else:
                legal[key] = value
    return tables


# `[stores.NAME]`, `[embedders.NAME]` and `[memory]` (M-2.12, M-8.3, M-10.16).

EMBEDDER_KEYS = ("kind", "connection", "model")
STORE_KEYS = ("kind", "path", "url_env")


def read_stores(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    """Add the stores of `[stores.NAME]` to the tables and report what is wrong in them. One with an illegal `kind`, or without
    the `url_env` that it needs, counts as `durable`; unknown keys are left out, a value that is no string, or empty, stays. What
    is no table is not added."""
    for name, fields in table.items():
        place = ("stores", name)
        if not isinstance(fields, dict):
            report("E4004", place, f"`{name}` is a table: write [stores.{name}]", None)
            continue
        for key, value in fields.items():
            if key not in STORE_KEYS:
                report("E4001", ("stores", name, key), f"[stores.{name}] has no key `{key}`", suggestion("keys", key, STORE_KEYS))
            elif not isinstance(value, str) or (not value and key != "kind"):
                report("E4004", ("stores", name, key), f"`{key}` of [stores.{name}] {_no_text(value)}", None)
        kind = fields.get("kind")
        if kind not in STORE_KINDS:
            at = (*place, "kind") if isinstance(kind, str) else place
            help = suggestion("kinds", kind, STORE_KINDS) if isinstance(kind, str) else example((*place, "kind"))
            report("E4004", at, f"`kind` of [stores.{name}] is one of {', '.join(STORE_KINDS)}", help)
        elif kind in ("redis", "postgres") and "url_env" not in fields:
            message = f"[stores.{name}] lacks `url_env`, the variable that holds the address"
            report("E4002", place, message, example(("stores", name, "url_env")))
        else:
            tables.stores[name] = {key: fields[key] for key in STORE_KEYS if key in fields}
        # A memory that names a store with a mistake is right itself.
        tables.stores.setdefault(name, BUILT_IN[DURABLE])


def read_embedders(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    """Add the legal embedders of `[embedders.NAME]` to the tables; report the others. An embedder has `connection` and
    `model`, or `kind = "host"`."""
    for name, fields in table.items():
        place, where = ("embedders", name), f"[embedders.{name}]"
        if not isinstance(fields, dict):
            report("E4004", place, f"`{name}` is a table: write {where}", None)
            continue
        unknown = [key for key in fields if key not in EMBEDDER_KEYS]
        for key in unknown:
            report("E4001", ("embedders", name, key), f"{where} has no key `{key}`", suggestion("keys", key, EMBEDDER_KEYS))
        if unknown:
            continue
        # A built-in embedder of this name must mean the same in every project.
        if name in EMBEDDERS:
            report("E4004", place, f"`{name}` is built in: give yours another name", "write `[embedders.small]`")
        elif fields == {"kind": "host"}:
            tables.embedders[name] = {"kind": "host"}
        elif "kind" in fields:
            message = f'`kind` of {where} is "host" and then stands alone, or is left out'
            report("E4004", place, message, example(("embedders", name, "kind")))
        else:
            _read_embedder(tables, name, fields, report)


def _read_embedder(tables: MemoryTables, name: str, fields: Mapping[str, Any], report: Report) -> None:
    for key in ("connection", "model"):
        if key not in fields:
            report("E4002", ("embedders", name), f"[embedders.{name}] lacks `{key}`", example(("embedders", name, key)))
        elif not (isinstance(fields[key], str) and fields[key]):
            report("E4004", ("embedders", name, key), f"`{key}` of [embedders.{name}] {_no_text(fields[key])}", None)
    texts = {key: fields.get(key) for key in ("connection", "model")}
    if all(isinstance(value, str) and value for value in texts.values()):
        tables.embedders[name] = {"kind": "connection", **texts}


def _no_text(value: object) -> str:
    """Return what is wrong with a value that had to be a text."""
    return "is empty" if value == "" else "is a string"


NAMED = {"store": "the name of a store", "embed": "the name of an embedder"}
"""Steps whose text names a table of the manifest, which an image holds in its place."""
# What a value of each kind of argument has to be, in words for a message.
KINDS = {
    COUNT: "an integer of at least 1", SHARE: "a number from 0 to 1", DURATION: "a duration", TEXT: "a string", FLAG: "true",
}  # fmt: skip


def _says(row: Argument) -> str:
    """Return what a value of the manifest has to be, for a message."""
    if row.words:
        return f"{'an array' if row.kind == SOME else 'one'} of {', '.join(row.words)}"
    return NAMED.get(row.image, KINDS[row.kind])


def _value(row: Argument, value: object) -> Any:
    """Return what an image holds for this value of the manifest; None for what the row refuses."""
    if row.image in NAMED:
        return value if isinstance(value, str) else None
    image_value = value
    if row.kind == DURATION:
        image_value = milliseconds(value)
    elif row.kind == REDACTOR:
        image_value = [value]
    elif row.kind == SHARE and row.takes(value):
        image_value = float(value)  # type: ignore[arg-type]
    return image_value if row.takes(image_value) and image_value != [] else None


# Per step the one argument that `[memory.defaults]` may set: the one that stands for the step alone (`bare`), else the one
# without a name, else the first.
DEFAULTS: dict[str, Argument] = {
    name: step.bare or step.arguments.get("") or next(iter(step.arguments.values()))
    for _, name, step in sorted((step.defaults, name, step) for name, step in STEPS.items() if step.defaults is not None)
}


def _every(value: object) -> Any:
    """Return the field of the image for `every`: none for Evict, which is the default, None for an illegal value."""
    if value == EVICT:
        return {}
    name = "every_ms" if isinstance(value, str) else "every_turns"
    amount = _value(SUMMARY[name], value)
    return None if amount is None else {name: amount}


def _from(value: object) -> Any:
    """Return the field of the image for `from`: none for the first word, which is the default."""
    return {} if value == FROM[0] else _part("from")(value)


def _part(name: str) -> Callable[[object], Any]:
    """Return a reader that puts a part of `summary` under the name the image has for it."""

    def read(value: object) -> Any:
        part = _value(SUMMARY[name], value)
        return None if part is None else {name: part}

    return read


# Per key of `summary` what reads it, and what it takes.
SUMMARY_KEYS: dict[str, tuple[Callable[[object], Any], str]] = {
    "by": (_part("host"), "the name of a summariser of the host"),
    "model": (_part("model"), "the name of a model of the program"),
    "every": (_every, f'a number of turns, a duration or "{EVICT}"'),
    "from": (_from, _says(SUMMARY["from"])),
    **{name: (_part(name), _says(SUMMARY[name])) for name in ("inject", "role", "max_tokens", "prompt")},
    "text": (_part("text"), f"a string with one `{HOLE}`, where the summary stands"),
}


def _read_summary(summary: object, report: Report) -> dict[str, Any] | None:
    """Return `summary` as the image holds it, a model by its name; None after a report."""
    place = ("memory", "summary")
    if not isinstance(summary, dict):
        report("E4004", place, "`summary` of [memory.defaults] is a table", None)
        return None
    fields: dict[str, Any] = {}
    legal = True
    for key, value in summary.items():
        read, takes = SUMMARY_KEYS.get(key, (None, ""))
        if read is None:
            message = f"`summary` of [memory.defaults] has no key `{key}`"
            report("E4502", place, message, suggestion("keys", key, [*SUMMARY_KEYS]))
        elif (part := read(value)) is None:
            report("E4004", place, f"`{key}` in `summary` of [memory.defaults] is {takes}", None)
        else:
            fields |= part
            continue
        legal = False
    if ("by" in summary) == ("model" in summary):
        message = "`summary` of [memory.defaults] names who summarises: one of `by`, of the host, and `model`, of the program"
        report("E4514", place, message, None)
        return None
    return fields if legal else None


def read_memory(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    """Add the namespace and the defaults of `[memory]` to the tables; report what is wrong."""
    for key, value in table.items():
        if key == "namespace" and isinstance(value, str) and value:
            tables.namespace = value
        elif key == "namespace":
            report("E4004", ("memory", key), f"`namespace` of [memory] {_no_text(value)}", None)
        elif key != "defaults":
            report("E4001", ("memory", key), f"[memory] has no key `{key}`", suggestion("keys", key, ("namespace", "defaults")))
        elif not isinstance(value, dict):
            report("E4004", ("memory", key), "`defaults` is a table: write [memory.defaults]", None)
        else:
            _read_defaults(tables, value, report)


def _read_defaults(tables: MemoryTables, table: Mapping[str, Any], report: Report) -> None:
    for step, written in table.items():
        place = ("memory", step)
        if step == "summary":
            value = _read_summary(written, report)
            if value is not None:
                tables.defaults[step] = {step: value}
            continue
        if step not in DEFAULTS:
            message = f"[memory.defaults] has no step `{step}` with one plain argument"
            report("E4502", place, message, suggestion("steps", step, [*DEFAULTS, "summary"]))
            continue
        row = DEFAULTS[step]
        value = _value(row, written)
        if value is None:
            report("E4004", place, f"`{step}` of [memory.defaults] is {_says(row)}", None)
        else:
            tables.defaults[step] = {row.image: value}


# The manifest as a whole, and the tables that are no memory's.

PROJECT_KEYS = ("name", "version", "entry")
# `api_key` stays outside.
CONNECTION_KEYS = {name: field for name, field in CONNECTION.items() if name != "api_key"} | {"provider": one_of(*PROVIDERS)}
PRICE = number(0)
BUDGETS = {
    "steps": whole(1, None), "depth": whole(1, None), "seconds": number(0, above=True), "tokens": whole(1, None),
    "cost": number(0, above=True), "model_calls": whole(1, None),
}  # fmt: skip


class Manifest:
    """What a manifest says; the constructor reads the file `path`. `folder` is the directory of the file, an absolute path
    without links; `entry` the source path that it names, relative to the folder, or None; `source` is its text, "" if it cannot
    be read; `permissions` has by capability key, such as `fs_read`, the scopes, of paths with the folder before them, or True
    for all; `tools` has by tool whether it may be called, or the names of the methods that may; `library_permissions` has by
    name of a library what its code may touch of that, as `permissions`, with `models` False where it may call none;
    `connections`, `agents` and `servers` have the legal fields by name; `memory_tables` what it says of memories; `pricing` the
    prices per model id, in dollars: [input, output] for a million tokens, with those of OTHER_PRICES behind where one of these
    is set (others are None), those of hosted tools, for a thousand calls, only where one of them is; `budgets` the limits of a
    run; `threads` says by module of Python whether its plain functions run in a thread; `serve_keys` by parameter where a
    server takes it from (S-1.3). `diagnostics` has what is wrong with the file."""

    def __init__(self, path: str) -> None:
        self.folder = os.path.dirname(os.path.realpath(path))
        self.diagnostics = Diagnostics()
        self.entry: str | None = None
        self.permissions: dict[str, tuple[str, ...] | bool] = {}
        self.tools: dict[str, tuple[str, ...] | bool] = {}
        self.library_permissions: dict[str, dict[str, tuple[str, ...] | bool]] = {}
        self.agents: dict[str, dict[str, Any]] = {}
        self.servers: dict[str, dict[str, Any]] = {}
        self.connections: dict[str, dict[str, object]] = {}
        self.pricing: dict[str, list[float | None]] = {}
        self.budgets: dict[str, object] = {}
        self.threads: dict[str, bool] = {}
        self.serve_keys: dict[str, str] = {}
        self.memory_tables = MemoryTables()
        self.source = Source(NAME, "")
        self._places: Places | None = None  # where things stand in the source, once something is reported
        self._read(path)

    def _read(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self.source = Source(NAME, file.read().decode().removeprefix("\ufeff"))  # a byte order mark says nothing
            tables = tomllib.loads(self.source.text)
        except OSError as error:
            self._unreadable(f"{NAME} cannot be read: {error.strerror or error}", "make it a file that may be read")
        except UnicodeDecodeError as error:
            self._unreadable(f"{NAME} is no UTF-8 at byte {error.start}", "save the file as UTF-8")
        except tomllib.TOMLDecodeError as error:
            self._syntax_error(str(error))
        except RecursionError:
            self._unreadable(f"{NAME} nests arrays or tables too deeply", "write fewer of them inside each other")
        except ValueError:  # Python makes no number of more than 4300 digits
            self._unreadable(f"{NAME} holds a number with too many digits", "write a shorter number")
        else:
            self._tables(tables)

    def _unreadable(self, message: str, help: str) -> None:
        self.memory_tables.readable = False
        self.report("E4004", None, message, help)

    def _tables(self, tables: dict[str, Any]) -> None:
        for name, value in tables.items():
            if name not in TABLES:
                self.report("E4001", (name,), f"{NAME} has no table `{name}`", suggestion("tables", name, [*TABLES]))
            elif not isinstance(value, dict):
                self.report("E4004", (name,), f"`{name}` is a table: write [{name}]")
            else:
                TABLES[name](self, value)

    def report(self, code: str, path: tuple[str, ...] | None, message: str, help: str | None = None) -> None:
        """Report a diagnostic at the table or key to which `path` leads; None means the file as a whole. Without `help` an
        example is shown."""
        if self._places is None:
            self._places = Places(self.source)
        start, end = self._places.of(path or ())
        self.diagnostics.report(code, Span(NAME, start, end), message, help=help or example(path or ()))

    def _syntax_error(self, text: str) -> None:
        """Report what the TOML reader says; its text ends in `… (at line 3, column 5)` or `… (at end of document)`."""
        reason, _, place = text.removesuffix(")").rpartition(" (at ")
        words = place.replace(",", "").split()
        at = len(self.source.text)
        if words[:1] == ["line"]:
            at = self.source.line_starts[int(words[1]) - 1] + int(words[3]) - 1
        # The end of the document has no character to point at.
        at = min(at, max(len(self.source.text) - 1, 0))
        self.memory_tables.readable = False
        help = 'a line is `key = value`, a string stands in quotes: `entry = "main.conc"`'
        self.diagnostics.report("E4004", Span(NAME, at, at + 1), f"{NAME} is no TOML: {reason or text}", help=help)


def _project(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        if key not in PROJECT_KEYS:
            help = suggestion("keys", key, PROJECT_KEYS)
            manifest.report("E4001", ("project", key), f"[project] has no key `{key}`", help)
        elif not isinstance(value, str):
            manifest.report("E4004", ("project", key), f"`{key}` of [project] is a string")
    for key in PROJECT_KEYS:
        if key not in table:
            manifest.report("E4002", ("project",), f"[project] lacks `{key}`", example(("project", key)))
    entry = table.get("entry")
    if isinstance(entry, str) and "\0" in entry:
        manifest.report("E4004", ("project", "entry"), "`entry` of [project] is no name of a file")
    elif isinstance(entry, str):
        manifest.entry = entry
    # `[memory] namespace` comes before the project's name, in whichever order the tables stand.
    if manifest.memory_tables.namespace is None and isinstance(table.get("name"), str):
        manifest.memory_tables.namespace = table["name"]  # M-7.1


def _permissions(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        place = ("permissions", key)
        if key == "tools":
            _tools(manifest, value)
        elif key == "lib":
            _libraries(manifest, value)
        else:
            _capability(manifest, place, key, value, manifest.permissions)


def _libraries(manifest: Manifest, table: Any) -> None:
    """Read `[permissions.lib.NAME]`: what code of a library may touch (P-3.2)."""
    if not isinstance(table, dict):
        manifest.report("E4004", ("permissions", "lib"), "`lib` of [permissions] holds tables: `[permissions.lib.NAME]`")
        return
    for name, value in table.items():
        place = ("permissions", "lib", name)
        if not isinstance(value, dict) or not name.isidentifier():
            manifest.report("E4004", place, f"`[permissions.lib.{name}]` is a table with the name of a library")
            continue
        granted = manifest.library_permissions.setdefault(name, {})
        for key, scope in value.items():
            if key != "models":
                _capability(manifest, (*place, key), key, scope, granted, f"permissions.lib.{name}", ("models",))
            elif isinstance(scope, bool):
                granted[key] = scope
            else:
                manifest.report("E4004", (*place, key), f"`models` of [permissions.lib.{name}] is true or false")


def _capability(
    manifest: Manifest, place: tuple[str, ...], key: str, value: Any, granted: dict[str, tuple[str, ...] | bool],
    table: str = "permissions", others: tuple[str, ...] = ("lib", "tools"),
) -> None:  # fmt: skip
    """Add what a key of a table of permissions grants to `granted`; `others` are keys of the table besides capabilities."""
    if key not in BY_KEY and key not in GROUP_KEYS:
        help = suggestion("keys", key, (*BY_KEY, *GROUP_KEYS, *others))
        manifest.report("E4001", place, f"[{table}] has no key `{key}`", help)
    elif not (value is True or (isinstance(value, list) and all(isinstance(item, str) for item in value))):
        manifest.report("E4004", place, f"`{key}` of [{table}] is an array of strings or true")
    else:
        # `fs` stands for `fs_read` and `fs_write`.
        for granted_key in GROUP_KEYS.get(key, (key,)):
            _grant(manifest, place, granted_key, value, granted, table)


def _tools(manifest: Manifest, table: Any) -> None:
    """Read `tools = { T = false }`, or the methods of T that may be called (O-4.20)."""
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


def _grant(
    manifest: Manifest, place: tuple[str, ...], key: str, value: Any, granted: dict[str, tuple[str, ...] | bool], table: str
) -> None:
    """Add a scope to a permission. Paths are relative to the manifest, wherever the program is started."""
    scopes = granted.get(key, ())
    # Everything has been granted before, or is granted now.
    if value is True or isinstance(scopes, bool):
        granted[key] = True
        return
    for scope in value:
        try:
            BY_KEY[key].check(scope)
        except Malformed as refused:
            manifest.report("E4004", place, f"`{key}` of [{table}]: {refused}")
            return
    paths = BY_KEY[key].scope == "PATH"
    granted[key] = (*scopes, *(os.path.join(manifest.folder, scope) if paths else scope for scope in value))


def _connections(manifest: Manifest, table: dict[str, Any]) -> None:
    """Read `[connections.N]`, the fields of a connection; keys stay outside of the file (O-9.3)."""
    for name, fields in table.items():
        where = f"[connections.{name}]"
        if not isinstance(fields, dict):
            manifest.report("E4004", ("connections", name), f"`{name}` is a table: write {where}")
            continue
        legal = manifest.connections[name] = {}
        _report_twice(manifest, ("connections", name), where, CONNECTION_KEYS, fields)
        for key, value in fields.items():
            if key == "api_key":
                help = 'write `api_key_env = "NAME"`; the key stays outside'
                manifest.report("E4005", ("connections", name, key), f"{where} holds a key", help)
                continue
            own, _ = named(CONNECTION_KEYS, key) or (key, False)
            if own in legal:  # it has two names here, which is reported
                continue
            fitting = _fitting(manifest, ("connections", name, key), where, key, value)
            if fitting is not None:
                legal[own] = fitting


def _report_twice(
    manifest: Manifest, place: tuple[str, ...], where: str, keys: Mapping[str, Field], table: Mapping[str, Any]
) -> None:
    two = twice(keys, table)
    if two is not None:
        manifest.report("E4001", place, f"`{two[0]}` and `{two[1]}` of {where} say the same", f"keep one of them: `{two[0]}`")


def _fitting(manifest: Manifest, place: tuple[str, ...], where: str, key: str, value: Any) -> Any:
    """Return the value of a field of a connection as runs hold it; None, after a report, where there is no such field or it does
    not take the value."""
    own, _ = named(CONNECTION_KEYS, key) or (key, False)
    field = CONNECTION_KEYS.get(own)
    if field is None:
        manifest.report("E4001", place, f"{where} has no key `{key}`", suggestion("keys", key, [*CONNECTION_KEYS]))
        return None
    if field.parts is not None and isinstance(value, dict):
        return _fitting_object(manifest, place, f"`{key}` of {where}", field.parts, value)
    value = as_held(field, value)
    if field.takes(value):
        return value
    what = "a table" if field.kind == OBJECT else field.says
    manifest.report("E4004", place, f"`{key}` of {where} is {what}")
    return None


def _fitting_object(
    manifest: Manifest, place: tuple[str, ...], where: str, parts: Mapping[str, Field], value: dict[str, Any]
) -> Any:
    """Return the parts by their own names as runs hold them; None, after a report, where one does not fit."""
    _report_twice(manifest, place, where, parts, value)
    result: dict[str, Any] = {}
    fits = True
    for inner, part in value.items():
        own, as_duration = named(parts, inner) or (inner, False)
        if own not in parts:
            manifest.report("E4001", place, f"{where} has no key `{inner}`", suggestion("keys", inner, [*parts]))
            fits = False
            continue
        result[own] = as_held(parts[own], part, as_duration)
        if not parts[own].takes(result[own]):
            manifest.report("E4004", place, f"`{inner}` of {where} is {WITH_UNIT if as_duration else parts[own].says}")
            fits = False
    return result if fits else None


def _pricing(manifest: Manifest, table: dict[str, Any]) -> None:
    """Read `[pricing."ID"]`: the price of a million tokens in and out (O-1.131), cached and written to a cache (O-1.221), and of
    a thousand calls of hosted tools (O-1.227)."""
    for model, prices in table.items():
        where = f'[pricing."{model}"]'
        if not isinstance(prices, dict):
            manifest.report("E4004", ("pricing", model), f"`{model}` is a table: write {where}")
            continue
        for key in prices:
            if key not in PRICES + OTHER_PRICES:
                keys = suggestion("keys", key, PRICES + OTHER_PRICES)
                manifest.report("E4001", ("pricing", model, key), f"{where} has no key `{key}`", keys)
            # These may be missing; those of input and output may not.
            elif key in OTHER_PRICES and not PRICE.takes(prices[key]):
                manifest.report("E4004", ("pricing", model, key), f"`{key}` of {where} is {PRICE.says}")
        for key in PRICES:
            if key not in prices:
                manifest.report("E4002", ("pricing", model), f"{where} lacks `{key}`", example(("pricing", model, key)))
            elif not PRICE.takes(prices[key]):
                manifest.report("E4004", ("pricing", model, key), f"`{key}` of {where} is {PRICE.says}")
        # Without errors every price is there and is a number.
        if not manifest.diagnostics.has_errors:
            manifest.pricing[model] = [float(prices[key]) for key in PRICES]
            others = OTHER_PRICES if any(key in prices for key in HOSTED) else OTHER_PRICES[: -len(HOSTED)]
            if any(key in prices for key in others):
                manifest.pricing[model] += [float(prices[key]) if key in prices else None for key in others]


def _budgets(manifest: Manifest, table: dict[str, Any]) -> None:
    for key, value in table.items():
        place = ("budgets", key)
        if key not in BUDGETS:
            manifest.report("E4001", place, f"[budgets] has no key `{key}`", suggestion("keys", key, [*BUDGETS]))
        elif not BUDGETS[key].takes(value):
            manifest.report("E4004", place, f"`{key}` of [budgets] is {BUDGETS[key].says}")
        else:
            manifest.budgets[key] = value


def _serve(manifest: Manifest, table: dict[str, Any]) -> None:
    """Read `[serve.keys]`: parameters that a server takes from the request, never from its body (S-1.3)."""
    for key in table:
        if key != "keys":
            manifest.report("E4001", ("serve", key), f"[serve] has no key `{key}`", suggestion("keys", key, ["keys"]))
    keys = table.get("keys", {})
    if not isinstance(keys, dict):
        manifest.report("E4004", ("serve", "keys"), "`keys` of [serve] is a table: write [serve.keys]")
        return
    for name, source in keys.items():
        if not isinstance(source, str) or not re.fullmatch(KEY_SOURCE, source):
            says = '"header:NAME", "claim:NAME", "caller" or "session"'
            manifest.report("E4004", ("serve", "keys", name), f"`{name}` of [serve.keys] is {says}")
        else:
            manifest.serve_keys[name] = source


def _agents(manifest: Manifest, table: dict[str, Any]) -> None:
    manifest.agents = read_agents(table, manifest.report)


def _mcp(manifest: Manifest, table: dict[str, Any]) -> None:
    manifest.servers = read_servers(table, manifest.report)


def _python(manifest: Manifest, table: dict[str, Any]) -> None:
    """Read `[python."MODULE"]`: whether plain functions of a module run in a worker thread (P-1.3)."""
    for module, fields in table.items():
        where = f'[python."{module}"]'
        if not isinstance(fields, dict):
            manifest.report("E4004", ("python", module), f"`{module}` is a table: write {where}")
            continue
        for key, value in fields.items():
            place = ("python", module, key)
            if key != "thread":
                manifest.report("E4001", place, f"{where} has no key `{key}`", suggestion("keys", key, ["thread"]))
            elif not isinstance(value, bool):
                manifest.report("E4004", place, f"`thread` of {where} is true or false")
            else:
                manifest.threads[module] = value


def _stores(manifest: Manifest, table: dict[str, Any]) -> None:
    read_stores(manifest.memory_tables, table, manifest.report)


def _embedders(manifest: Manifest, table: dict[str, Any]) -> None:
    read_embedders(manifest.memory_tables, table, manifest.report)


def _memory(manifest: Manifest, table: dict[str, Any]) -> None:
    read_memory(manifest.memory_tables, table, manifest.report)


TABLES: dict[str, Callable[[Manifest, dict[str, Any]], None]] = {
    "project": _project, "permissions": _permissions, "connections": _connections, "pricing": _pricing, "budgets": _budgets,
    "agents": _agents, "mcp": _mcp, "python": _python, "stores": _stores, "embedders": _embedders, "memory": _memory,
    "serve": _serve,
}  # fmt: skip


class Places:
    """Where the tables and keys of a manifest are written, as far as a look at the lines tells: the TOML parser keeps no places.
    Offsets are characters."""

    def __init__(self, source: Source) -> None:
        self.tables: dict[tuple[str, ...], int] = {}  # by their whole names: where the last of them stands
        self.tops: dict[str, int] = {}  # keys in no table, and the first names of tables
        self.keys: dict[tuple[str, ...], int] = {}  # by the names of the table around them, and their own
        self.keys_below: dict[tuple[str, str], int] = {}  # by the first name of the table around them, and their own
        header: list[str] | None = None  # of the table that the line is in
        ends = [*source.line_starts[1:], len(source.text)]
        for start, end in zip(source.line_starts, ends, strict=True):
            line = source.text[start:end].partition("\n")[0]
            words = line.strip()
            if words.startswith("["):
                header = _names(words.partition("]")[0])
                self._table(start, line, header)
            elif names := _names(words.partition("=")[0]):
                self._key(start + line.index(names[0]), header, names[0])

    def _table(self, start: int, line: str, names: list[str]) -> None:
        if names:
            self.tops.setdefault(names[0], start + line.index(names[0]))
            self.tables.setdefault(tuple(names), start + line.rindex(names[-1]))

    def _key(self, at: int, header: list[str] | None, key: str) -> None:
        if header is None:
            self.tops.setdefault(key, at)
        elif header:
            self.keys.setdefault((*header, key), at)
            self.keys_below.setdefault((header[0], key), at)

    def of(self, path: tuple[str, ...]) -> tuple[int, int]:
        """Return the offsets, start and end, at which the last name of a path is written. What has no line of its own is at what
        holds it; an empty path is at (0, 0)."""
        while path:
            offsets = [at for at in self._offsets(path) if at is not None]
            if offsets:
                return min(offsets), min(offsets) + len(path[-1])
            path = path[:-1]
        return 0, 0

    def _offsets(self, path: tuple[str, ...]) -> tuple[int | None, ...]:
        if len(path) == 1:
            return (self.tops.get(path[0]),)
        if len(path) == 2:
            return self.tables.get(path), self.keys_below.get((path[0], path[1]))
        # Keys of three parts lie in a table of two: `[connections.main]`.
        key = path[-1]
        return self.tables.get(path), self.keys.get((*path[:2], key)), self.keys.get((path[0], key))


_NAME_OF_A_KEY = re.compile(r"""[^\s."'\[\]]+|"[^"]*"|'[^']*'""")


def _names(text: str) -> list[str]:
    """Return the names of `a."b.c"`."""
    return [name.strip("\"'") for name in _NAME_OF_A_KEY.findall(text)]
