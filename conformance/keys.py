"""The keys that describe a program and script its world (C-4.1, C-4.2): for each key one reader, which turns its value into
records.

Hands on to `expectations.py` `READERS`, to which it adds the other keys, `key`, `Place` and `whole_number`; to `program.py`
`takes` and `distance_at_most_1`; to `images.py` the form of a CLAUSE. A new key is a function under `@key`. A reader changes the
program that it gets, and raises `Malformed` for a value of another form; `program.py` adds file and line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from . import notation
from .notation import Malformed, split_outside_strings, take_json, take_string, take_word
from .records import Line, Program

CLAUSE = re.compile(r"[LOMVGCS]-\d+(?:\.\d+)+$")
_CAPABILITIES = ("fs:read", "fs:write", "net", "env", "run", "disable-tool")
_LIMITS = ("steps", "depth", "seconds", "tokens", "cost", "model_calls", "size")
_NAMED = ("reply", "agent", "mcp")
_NUMBERED = ("request", "wire")


@dataclass(frozen=True)
class Place:
    """Where an expectation stands. `file` and `line` say which line of the source it is about, from 1; `at` is the line of the
    comment in the program file. `alone`: the comment has its line for itself; `front`: it is in the front matter; `shifted`: its
    key has +1 or -1."""

    file: str
    line: int
    at: int
    alone: bool
    front: bool
    shifted: bool


Reader = Callable[[Program, list[str], str, Place], None]
READERS: dict[str, Reader] = {}


def key(*names: str) -> Callable[[Reader], Reader]:
    """Return a decorator that enters a reader under its keys."""
    def add(reader: Reader) -> Reader:
        for name in names:
            READERS[name] = reader
        return reader

    return add


def takes(word: str, args: list[str]) -> bool:
    """Return whether the words between a key and its colon are arguments of the key; if not, the comment is plain text. `args`
    are at least one."""
    if word in _NAMED:
        return len(args) == 1
    return word in _NUMBERED and args[-1].isdigit()


def distance_at_most_1(a: str, b: str) -> bool:
    """Return whether the Damerau-Levenshtein distance of two words is 0 or 1."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[at:] == b[at + 1 :]
    swapped = a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :]
    return a[at + 1 :] == b[at + 1 :] or swapped


# --- the program


@key("clause")
def _clause(program: Program, args: list[str], value: str, place: Place) -> None:
    program.clause, program.also = _clauses(value, 1)[0], ()


@key("also")
def _also(program: Program, args: list[str], value: str, place: Place) -> None:
    program.also += tuple(_clauses(value, 0))


def _clauses(value: str, exactly: int) -> list[str]:
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if not CLAUSE.match(name):
            raise Malformed(f"{name!r} is no clause id")
    if exactly and len(names) != exactly:
        raise Malformed("one clause; the others stand in also")
    return names


@key("level")
def _level(program: Program, args: list[str], value: str, place: Place) -> None:
    if value not in tuple("0123456"):
        raise Malformed("0 to 6")
    program.level = int(value)


@key("needs")
def _needs(program: Program, args: list[str], value: str, place: Place) -> None:
    for need in split_outside_strings(value, ","):
        name, _, operand = need.partition("=")
        if name == "feature":
            program.features.append(operand)
        elif name in _CAPABILITIES:
            program.permissions.append(need)
        elif name in _LIMITS and re.fullmatch(r"\d+(\.\d+)?", operand):
            program.limits[name] = float(operand) if "." in operand else int(operand)
        else:
            raise Malformed(f"{need!r} is no permission, limit or feature")


@key("mode")
def _mode(program: Program, args: list[str], value: str, place: Place) -> None:
    if value not in ("run", "check", "test"):
        raise Malformed("run, check or test")
    program.mode = value


@key("args")
def _args(program: Program, args: list[str], value: str, place: Place) -> None:
    parts = split_outside_strings(value, ",")
    program.args = [json.loads(part) if part.startswith('"') else part for part in parts]


@key("seed")
def _seed(program: Program, args: list[str], value: str, place: Place) -> None:
    program.seed = whole_number(value)


@key("now")
def _now(program: Program, args: list[str], value: str, place: Place) -> None:
    try:
        program.now = round(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000)
    except ValueError:
        raise Malformed("a time like 2000-01-01T00:00:00Z") from None


@key("isolate")
def _isolate(program: Program, args: list[str], value: str, place: Place) -> None:
    program.isolate = value == "yes"
    if value not in ("yes", "no"):
        raise Malformed("yes or no")


def whole_number(value: str) -> int:
    """Return the number that a value is. Raise Malformed for any other text."""
    if not re.fullmatch(r"-?\d+", value):
        raise Malformed(f"{value!r} is no whole number")
    return int(value)


# --- the world


@key("reply")
def _reply(program: Program, args: list[str], value: str, place: Place) -> None:
    name = args[0] if args else ""
    replies = [replace(one, at=place.at) for one in notation.reply(value)]
    program.replies.setdefault(name, []).extend(replies)


def _script(program: Program, kind: str, name: str, line: Line) -> None:
    program.scripts.setdefault((kind, name), []).append(line)


@key("agent")
def _agent(program: Program, args: list[str], value: str, place: Place) -> None:
    name = args[0] if args else ""
    word, rest = take_word(value)
    if value == "acp":
        program.agents[name] = {"protocol": "acp"}
        return
    if value == "silence":
        line = Line("silence", None, place.at)
    elif word == "exit" and re.fullmatch(r"-?\d+", rest):
        line = Line("exit", int(rest), place.at)
    else:
        line = Line("line", take_string(value)[0] if value.startswith('"') else value, place.at)
    _script(program, "agent", name, line)


@key("mcp")
def _mcp(program: Program, args: list[str], value: str, place: Place) -> None:
    word, rest = take_word(value)
    body: Any = None
    if word == "tool":
        tool, rest = take_word(rest)
        body = {"name": tool, "schema": take_json(rest)[1]}
    elif word in ("result", "error", "elicit", "progress"):
        body = {word: take_json(rest)[1]}
    elif word != "gone":
        raise Malformed("tool, result, error, elicit, progress or gone")
    _script(program, "mcp", args[0] if args else "", Line(word, body, place.at))


@key("http")
def _http(program: Program, args: list[str], value: str, place: Place) -> None:
    asked, arrow, answer = value.partition(" -> ")
    method, url = take_word(asked.strip())
    if not arrow or not url:
        raise Malformed('GET URL -> 200 "body", or -> fault KIND')
    word, rest = take_word(answer.strip())
    if word == "fault":
        fault = notation.reply(answer.strip())[0].fault
        _script(program, "http", f"{method} {url}", Line("fault", dict(fault or ()), place.at))
        return
    headers: Any = {}
    if rest.startswith("{"):
        _, headers, rest = take_json(rest)
    body = take_string(rest)[0] if rest else ""
    reply = {"status": whole_number(word), "headers": headers, "body": body}
    _script(program, "http", f"{method} {url}", Line("reply", reply, place.at))


@key("answer")
def _answer(program: Program, args: list[str], value: str, place: Place) -> None:
    channel, rest = take_word(value)
    if rest == "none":
        line = Line("silence", None, place.at)
    elif rest.startswith("fault "):
        kind, _, message = rest.removeprefix("fault ").partition(" ") if rest[6:7] != '"' else ("failed", "", rest[6:])
        fault = {"kind": kind, **({"message": take_string(message)[0]} if message else {})}
        line = Line("fault", fault, place.at)
    else:
        line = Line("reply", {"payload": take_json(rest)[1]}, place.at)
    _script(program, "answer", channel, line)


@key("file")
def _file(program: Program, args: list[str], value: str, place: Place) -> None:
    path, rest = take_word(value)
    program.fs[path] = take_string(rest)[0]


@key("stdin")
def _stdin(program: Program, args: list[str], value: str, place: Place) -> None:
    program.stdin = take_string(value)[0]


@key("env")
def _env(program: Program, args: list[str], value: str, place: Place) -> None:
    name, rest = take_word(value)
    program.env[name] = take_string(rest)[0]
