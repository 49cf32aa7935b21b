"""`[agents.X]` and `[mcp.N]` of a manifest: their keys and what each holds (O-7.4 to O-7.8, O-4.37 to O-4.41).

Hands on `read_agents`, `read_servers` and `has_words`. Must not know: files, the agents and servers of a program.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from .manifest_help import example, known

Report = Callable[[str, tuple[str, ...] | None, str, str | None], None]


def _is_duration(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def has_words(command: str) -> bool:
    """Whether a command without `args` beside it can be split (O-4.38)."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


def _is_json(value: Any) -> bool:
    """Dates and infinities have no JSON form."""
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, (str, int)) or (isinstance(value, float) and value - value == 0)


def _are_variables(value: Any) -> bool:
    def fits(text: Any) -> bool:
        return _is_text(text) or (isinstance(text, dict) and list(text) == ["value"] and _is_text(text["value"]))

    return isinstance(value, dict) and all(map(fits, value.values()))


def _are_headers(value: Any) -> bool:
    def fits(text: Any) -> bool:
        return _is_text(text) or (isinstance(text, dict) and list(text) == ["env"] and _is_text(text["env"]))

    return isinstance(value, dict) and all(map(fits, value.values()))


# What each key holds, and in words.
Keys = dict[str, tuple[Callable[[Any], bool], str]]
KEYS: Keys = {
    "transport": (lambda value: value == "stdio", '"stdio"'),
    "command": (lambda value: _is_text(value) and value != "", "a string of words"),
    "args": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "an array of strings"),
    "timeout": (_is_duration, "a number above 0"),
    "working_dir": (_is_text, "a string"),
    "env": (_are_variables, 'a table of names of variables, or of `{ value = "text" }`'),
    "params": (lambda value: isinstance(value, dict) and _is_json(value), "a table that JSON can hold"),
}
WORDS = "a string of words, their quotes closed, where `args` is absent"
SERVER_KEYS: Keys = {
    "transport": (lambda value: value in ("stdio", "http"), '"stdio" or "http"'),
    **{key: KEYS[key] for key in ("command", "args", "timeout", "env")},
    "url": (_is_text, "a string"),
    "headers": (_are_headers, 'a table of strings or `{ env = "NAME" }`'),
}


def read_agents(table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    """The sound fields of each connector by its name."""
    found = _read("agents", KEYS, table, report)
    for name, fields in found.items():
        if "command" not in table[name]:
            report("E4002", ("agents", name), f"[agents.{name}] lacks `command`", example(("agents", name, "command")))
        elif "command" in fields and "args" not in table[name] and not has_words(fields["command"]):
            report("E4004", ("agents", name, "command"), f"`command` of [agents.{name}] is {WORDS}", None)
    return found


def read_servers(table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    """The sound fields of each MCP server by its name; what one must have, and what is split, depends on its declaration."""
    return _read("mcp", SERVER_KEYS, table, report)


def _read(section: str, keys: Keys, table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, fields in table.items():
        where = f"[{section}.{name}]"
        if not isinstance(fields, dict):
            report("E4004", (section, name), f"`{name}` is a table: write {where}", None)
            continue
        sound = found[name] = {}
        for key, value in fields.items():
            if key not in keys:
                report("E4001", (section, name, key), f"{where} has no key `{key}`", known("keys", key, [*keys]))
            elif not keys[key][0](value):
                report("E4004", (section, name, key), f"`{key}` of {where} is {keys[key][1]}", None)
            else:
                sound[key] = value
    return found
