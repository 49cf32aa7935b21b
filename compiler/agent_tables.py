"""`[agents.X]` of a manifest: the keys of a connector and what each holds (O-7.4 to O-7.8).

Hands on `read_agents`. Must not know: files, the agents of a program.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from .resolver.spelling import did_you_mean

Report = Callable[[str, tuple[str, ...] | None, str, str | None], None]


def _is_duration(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_command(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(shlex.split(value))
    except ValueError:
        return False


def _is_json(value: Any) -> bool:
    """Dates and infinities have no JSON form."""
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, (str, int)) or (isinstance(value, float) and value - value == 0)


# What each key holds, and in words.
KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "transport": (lambda value: value == "stdio", '"stdio"'),
    "command": (_is_command, "a string of words, their quotes closed"),
    "args": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "an array of strings"),
    "timeout": (_is_duration, "a number above 0"),
    "working_dir": (_is_text, "a string"),
    "env": (lambda value: isinstance(value, dict) and all(map(_is_text, value.values())), "a table of names of variables"),
    "params": (lambda value: isinstance(value, dict) and _is_json(value), "a table that JSON can hold"),
}
HELPS = {"command": 'write `command = "python3"` and `args = ["worker.py"]`', "args": 'write `args = ["worker.py"]`'}


def read_agents(table: dict[str, Any], report: Report) -> dict[str, dict[str, Any]]:
    """The sound fields of each connector by its name."""
    found: dict[str, dict[str, Any]] = {}
    for name, fields in table.items():
        where = f"[agents.{name}]"
        if not isinstance(fields, dict):
            report("E4004", ("agents", name), f"`{name}` is a table: write {where}", None)
            continue
        sound = found[name] = {}
        for key, value in fields.items():
            if key not in KEYS:
                report("E4001", ("agents", key), f"{where} has no key `{key}`", did_you_mean(key, KEYS))
            elif not KEYS[key][0](value):
                report("E4004", ("agents", key), f"`{key}` of {where} is {KEYS[key][1]}", HELPS.get(key))
            else:
                sound[key] = value
        if "command" not in fields:
            report("E4002", ("agents",), f"{where} lacks `command`", HELPS["command"])
    return found
