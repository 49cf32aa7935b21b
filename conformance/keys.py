"""The keys of program files (C-4.1, C-4.2, C-5.1): one reader per key, turning a value into records of the `Program`.

`READERS` is the only list of keys. A reader raises `Malformed`; `program.py` adds file and line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from . import notation
from .notation import Malformed, compact, split_outside_strings, take_json, take_string, take_word
from .records import (
    Diagnostic,
    ExpectedDiagnostic,
    ExpectedEmit,
    ExpectedFail,
    ExpectedMemory,
    ExpectedPanic,
    ExpectedRequest,
    Line,
    Program,
)

CLAUSE = re.compile(r"[LOMVGC]-\d+(?:\.\d+)+$")
STAGES = ("parse", "names", "types", "flow", "declare", "load", "verify", "run")
_CAPABILITIES = ("fs:read", "fs:write", "net", "env", "run")
_LIMITS = ("steps", "depth", "seconds", "tokens", "cost", "size")
_POSITION = re.compile(r"@(?:(?P<file>[\w./]+\.conc):)?(?:(?P<line>\d+):)?(?P<column>\d+)$")
_NAMED = ("reply", "agent", "mcp")
_NUMBERED = ("request", "wire")
_OPERATORS = re.compile(
    r"(?:(?P<path>\S+)\s+)??(?P<op>!=|=|contains\b|absent\b|count\s*=|same as\b)\s*(?P<value>.*)$"
)


@dataclass(frozen=True)
class Place:
    """Where an expectation stands: source file and line it refers to, absolute line of the comment."""

    file: str
    line: int
    at: int
    alone: bool
    front: bool
    shifted: bool


Reader = Callable[[Program, list[str], str, Place], None]
READERS: dict[str, Reader] = {}


def _key(*names: str) -> Callable[[Reader], Reader]:
    def add(reader: Reader) -> Reader:
        for name in names:
            READERS[name] = reader
        return reader

    return add


def takes(word: str, args: list[str]) -> bool:
    """Whether the words between a key and its colon are arguments of the key, or the comment is plain text."""
    if word in _NAMED:
        return len(args) == 1
    return word in _NUMBERED and args[-1].isdigit()


def distance_at_most_1(a: str, b: str) -> bool:
    """Damerau-Levenshtein distance 1 or 0."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1:
        return False
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[at:] == b[at + 1 :]
    swapped = a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :]
    return a[at + 1 :] == b[at + 1 :] or swapped


def demands_something(program: Program) -> bool:
    """C-3.5: some expectation is not met by the answer `ok` alone."""
    strong = (
        program.emits or program.diagnostics or program.panic or program.fails or program.memory or program.requests
        or program.tests or program.reject or any(count for _, count, _ in program.calls)
    )  # fmt: skip
    exits = program.exit is not None and 0 not in program.exit[0]
    return bool(strong or exits or (program.asserts and program.asserts[0]))


# --- the program


@_key("clause")
def _clause(program: Program, args: list[str], value: str, place: Place) -> None:
    program.clause, program.also = _clauses(value, 1)[0], ()


@_key("also")
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


@_key("level")
def _level(program: Program, args: list[str], value: str, place: Place) -> None:
    if value not in tuple("0123456"):
        raise Malformed("0 to 6")
    program.level = int(value)


@_key("needs")
def _needs(program: Program, args: list[str], value: str, place: Place) -> None:
    for need in split_outside_strings(value, ","):
        name, _, given = need.partition("=")
        if name == "feature":
            program.features.append(given)
        elif name in _CAPABILITIES:
            program.permissions.append(need)
        elif name in _LIMITS and re.fullmatch(r"\d+(\.\d+)?", given):
            program.limits[name] = float(given) if "." in given else int(given)
        else:
            raise Malformed(f"{need!r} is no permission, limit or feature")


@_key("mode")
def _mode(program: Program, args: list[str], value: str, place: Place) -> None:
    if value not in ("run", "check", "test"):
        raise Malformed("run, check or test")
    program.mode = value


@_key("args")
def _args(program: Program, args: list[str], value: str, place: Place) -> None:
    parts = split_outside_strings(value, ",")
    program.args = [json.loads(part) if part.startswith('"') else part for part in parts]


@_key("seed")
def _seed(program: Program, args: list[str], value: str, place: Place) -> None:
    program.seed = _int(value)


@_key("now")
def _now(program: Program, args: list[str], value: str, place: Place) -> None:
    try:
        program.now = round(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000)
    except ValueError:
        raise Malformed("a time like 2000-01-01T00:00:00Z") from None


@_key("isolate")
def _isolate(program: Program, args: list[str], value: str, place: Place) -> None:
    program.isolate = value == "yes"
    if value not in ("yes", "no"):
        raise Malformed("yes or no")


def _int(value: str) -> int:
    if not re.fullmatch(r"-?\d+", value):
        raise Malformed(f"{value!r} is no whole number")
    return int(value)


# --- the world


@_key("reply")
def _reply(program: Program, args: list[str], value: str, place: Place) -> None:
    name = args[0] if args else ""
    made = [replace(one, at=place.at) for one in notation.reply(value)]
    program.replies.setdefault(name, []).extend(made)


def _script(program: Program, kind: str, name: str, line: Line) -> None:
    program.scripts.setdefault((kind, name), []).append(line)


@_key("agent")
def _agent(program: Program, args: list[str], value: str, place: Place) -> None:
    name = args[0] if args else ""
    word, rest = take_word(value)
    if value == "silence":
        line = Line("silence", None, place.at)
    elif word == "exit" and re.fullmatch(r"-?\d+", rest):
        line = Line("exit", int(rest), place.at)
    else:
        line = Line("line", take_string(value)[0] if value.startswith('"') else value, place.at)
    _script(program, "agent", name, line)


@_key("mcp")
def _mcp(program: Program, args: list[str], value: str, place: Place) -> None:
    word, rest = take_word(value)
    body: Any = None
    if word == "tool":
        tool, rest = take_word(rest)
        body = {"name": tool, "schema": take_json(rest)[1]}
    elif word in ("result", "error"):
        body = {word: take_json(rest)[1]}
    elif word != "gone":
        raise Malformed("tool, result, error or gone")
    _script(program, "mcp", args[0] if args else "", Line(word, body, place.at))


@_key("http")
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
    body = take_string(rest)[0] if rest else ""
    reply = {"status": _int(word), "headers": {}, "body": body}
    _script(program, "http", f"{method} {url}", Line("reply", reply, place.at))


@_key("answer")
def _answer(program: Program, args: list[str], value: str, place: Place) -> None:
    channel, rest = take_word(value)
    if rest == "none":
        line = Line("silence", None, place.at)
    elif rest.startswith("fault "):
        kind, _, message = rest.removeprefix("fault ").partition(" ")
        fault = {"kind": kind, **({"message": take_string(message)[0]} if message else {})}
        line = Line("fault", fault, place.at)
    else:
        line = Line("reply", {"payload": take_json(rest)[1]}, place.at)
    _script(program, "answer", channel, line)


@_key("file")
def _file(program: Program, args: list[str], value: str, place: Place) -> None:
    path, rest = take_word(value)
    program.fs[path] = take_string(rest)[0]


@_key("env")
def _env(program: Program, args: list[str], value: str, place: Place) -> None:
    name, rest = take_word(value)
    program.env[name] = take_string(rest)[0]


# --- expectations


def _either(value: str) -> list[str]:
    """The alternatives of `either a | b` (C-5.8), or the value alone."""
    return split_outside_strings(value[7:], " | ") if value.startswith("either ") else [value]


@_key("emit", "emit~")
def _emit(program: Program, args: list[str], value: str, place: Place) -> None:
    program.emits.append(ExpectedEmit(tuple(_one_emit(form) for form in _either(value)), None, place.at))


def _one_emit(value: str) -> tuple[str, str]:
    channel, rest = take_string(value) if value.startswith('"') else take_word(value)
    if not rest:
        raise Malformed("a channel and a payload (null for none)")
    return channel, compact(rest)


@_key("error")
def _error(program: Program, args: list[str], value: str, place: Place) -> None:
    _diagnostic(program, "error", value, place)


@_key("warn")
def _warn(program: Program, args: list[str], value: str, place: Place) -> None:
    _diagnostic(program, "warning", value, place)


def _diagnostic(program: Program, severity: str, value: str, place: Place) -> None:
    value, position = _take_position(value)
    forms = tuple(_one_diagnostic(form, severity) for form in _either(value))
    file, line, column = _where(position, place)
    program.diagnostics.append(ExpectedDiagnostic(severity, forms, file, line, column, place.at))


def _take_position(value: str) -> tuple[str, re.Match[str] | None]:
    for word in value.split('"')[0].split():
        if word.startswith("@"):
            match = _POSITION.match(word)
            if not match:
                raise Malformed(f"{word!r} is no position")
            return re.sub(r"\s*" + re.escape(word) + r"\s*", " ", value, count=1).strip(), match
    return value, None


def _where(position: re.Match[str] | None, place: Place) -> tuple[str, int, int | None]:
    """File, line and column; a comment on a line of its own must say which line it means."""
    if position and position["line"]:
        return position["file"] or "main.conc", int(position["line"]), int(position["column"])
    if place.alone and not place.shifted:
        raise Malformed("on a line of its own it needs +1, -1 or, in the front matter, @line:column")
    return place.file, place.line, int(position["column"]) if position else None


def _one_diagnostic(value: str, severity: str) -> Diagnostic:
    word, rest = take_word(value)
    if not re.fullmatch(r"E\d{4}" if severity == "error" else r"W\d{4}", word):
        raise Malformed(f"{word!r} is no code")
    stage = None
    if rest and not rest.startswith('"'):
        stage, rest = take_word(rest)
        if stage not in STAGES:
            raise Malformed(f"{stage!r} is no stage")
    return Diagnostic(word, stage, _part(rest))


def _part(rest: str) -> str | None:
    if not rest:
        return None
    part, after = take_string(rest)
    if after:
        raise Malformed(f"unexpected {after!r}")
    return part


@_key("panic")
def _panic(program: Program, args: list[str], value: str, place: Place) -> None:
    _once(program.panic, "panic")
    value, position = _take_position(value)
    forms = []
    for form in _either(value):
        code, rest = take_word(form)
        if not re.fullmatch(r"P\d{3}", code):
            raise Malformed(f"{code!r} is no panic code")
        forms.append((code, _part(rest)))
    file, line, _ = _where(position, place)
    program.panic = ExpectedPanic(tuple(forms), file, line, place.at)


@_key("fails")
def _fails(program: Program, args: list[str], value: str, place: Place) -> None:
    _once(program.fails, "fails")
    forms = []
    for form in _either(value):
        name, rest = take_word(form)
        kind, _, variant = name.partition("::")
        forms.append((kind, variant or None, _part(rest)))
    program.fails = ExpectedFail(tuple(forms), place.at)


def _once(present: object, name: str) -> None:
    if present is not None:
        raise Malformed(f"a second {name}")


@_key("memory")
def _memory(program: Program, args: list[str], value: str, place: Place) -> None:
    name, sign, rest = value.partition("=")
    if not sign:
        raise Malformed("name = [...]")
    rest = rest.strip()
    items = ("expect",) if rest == "expect" else notation.memory_items(rest)
    program.memory.append(ExpectedMemory(name.strip(), items, place.at))


@_key("calls")
def _calls(program: Program, args: list[str], value: str, place: Place) -> None:
    for part in value.split(","):
        name, _, count = part.partition("=")
        program.calls.append((name.strip(), _int(count.strip()), place.at))


@_key("request")
def _request(program: Program, args: list[str], value: str, place: Place) -> None:
    _on_request(program, "request", args, value, place)


@_key("wire")
def _wire(program: Program, args: list[str], value: str, place: Place) -> None:
    _on_request(program, "wire", args, value, place)


def _on_request(program: Program, kind: str, args: list[str], value: str, place: Place) -> None:
    if not args:
        raise Malformed("the number of the request is missing")
    header = kind == "wire" and value.startswith("header ")
    match = _OPERATORS.match(value[7:] if header else value)
    if not match:
        raise Malformed("a path and one of = != contains absent count same as")
    operator = "count" if match["op"].startswith("count") else match["op"]
    path = ("header " if header else "") + (match["path"] or "")
    model = args[0] if len(args) == 2 else None
    operand = match["value"].strip()
    _check_operand(kind, operator, operand)
    wanted = ExpectedRequest(kind, model, int(args[-1]), path, operator, operand, place.at)
    program.requests.append(wanted)


def _check_operand(kind: str, operator: str, operand: str) -> None:
    if operator in ("count", "same as"):
        _int(operand)
    elif operator == "absent":
        if operand:
            raise Malformed("nothing follows absent")
    elif kind == "request" or operator == "contains":
        compact(operand)
    elif not operand:
        raise Malformed("a value is missing")


@_key("exit")
def _exit(program: Program, args: list[str], value: str, place: Place) -> None:
    program.exit = tuple(_int(form) for form in _either(value)), place.at


@_key("asserts")
def _asserts(program: Program, args: list[str], value: str, place: Place) -> None:
    program.asserts = _int(value), place.at


@_key("tests")
def _tests(program: Program, args: list[str], value: str, place: Place) -> None:
    outcomes = {}
    for part in split_outside_strings(value, ","):
        name, _, outcome = part.rpartition(" ")
        if outcome not in ("pass", "fail") or not name:
            raise Malformed("name pass, name fail")
        outcomes[name.strip()] = outcome
    program.tests = outcomes, place.at


@_key("reject")
def _reject(program: Program, args: list[str], value: str, place: Place) -> None:
    code, rest = take_word(value)
    stage = rest or ("load" if code.startswith("V0") else "verify")
    if not re.fullmatch(r"V\d{3}", code) or stage not in ("load", "verify"):
        raise Malformed("V111 verify")
    program.reject = code, stage, place.at
