"""The keys of expectations (C-5.1 to C-5.8): for each key one reader, which turns its value into records of the `Program`.

Hands on to `program.py` `demands_something` and `READERS`, which importing this module completes: those that describe a program
and its world are in `keys.py`. A new key is a function under `@key`. A reader changes the program that it gets, and raises
`Malformed` for a value of another form; the caller adds file and line.
"""

from __future__ import annotations

import json
import re

from . import notation
from .keys import READERS, Place, key, whole_number
from .notation import Malformed, compact, split_outside_strings, take_string, take_word
from .records import (
    Diagnostic,
    ExpectedDiagnostic,
    ExpectedEmit,
    ExpectedFail,
    ExpectedMemory,
    ExpectedPanic,
    ExpectedPlace,
    ExpectedRequest,
    Program,
)

__all__ = ["READERS", "demands_something"]

STAGES = ("parse", "names", "types", "flow", "declare", "load", "verify", "run")
_POSITION = re.compile(r"@(?:(?P<file>[\w./]+\.conc):)?(?:(?P<line>\d+):)?(?P<column>\d+)$")
_OPERATORS = re.compile(
    r"(?:(?P<path>\S+)\s+)??(?P<op>!=|=|contains\b|absent\b|count\s*=|same as\b)\s*(?P<value>.*)$"
)


def demands_something(program: Program) -> bool:
    """Return whether some expectation of the program is not met by the answer `ok` alone (C-3.5)."""
    strong = (
        program.emits or program.diagnostics or program.panic or program.fails or program.memory or program.requests
        or program.tests or program.reject or any(count for _, count, _ in program.calls)
    )  # fmt: skip
    exits = program.exit is not None and 0 not in program.exit[0]
    return bool(strong or exits or (program.asserts and program.asserts[0]))


def _either(value: str) -> list[str]:
    """Return the alternatives of `either a | b` (C-5.8), or the value alone."""
    return split_outside_strings(value[7:], " | ") if value.startswith("either ") else [value]


@key("emit", "emit~")
def _emit(program: Program, args: list[str], value: str, place: Place) -> None:
    program.emits.append(ExpectedEmit(tuple(_one_emit(form) for form in _either(value)), None, place.at))


def _one_emit(value: str) -> tuple[str, str]:
    channel, rest = take_string(value) if value.startswith('"') else take_word(value)
    if not rest:
        raise Malformed("a channel and a payload (null for none)")
    return channel, compact(rest)


@key("error")
def _error(program: Program, args: list[str], value: str, place: Place) -> None:
    _diagnostic(program, "error", value, place)


@key("warn")
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
    """Return file, line and column of a diagnostic, None for no column. A comment on a line of its own must say which line it
    means."""
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


@key("panic")
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


@key("fails")
def _fails(program: Program, args: list[str], value: str, place: Place) -> None:
    _once(program.fails, "fails")
    forms = []
    for form in _either(value):
        name, rest = take_word(form)
        kind, _, variant = name.partition("::")
        forms.append((kind, variant or None, _part(rest)))
    program.fails = ExpectedFail(tuple(forms), place.at)


@key("way")
def _way(program: Program, args: list[str], value: str, place: Place) -> None:
    """Read `1 num, 3 num`, places of the way by number: an error passes one line more than once where a function calls itself."""
    file, line, _ = _where(None, place)
    for part in value.split(","):
        number, function = take_word(part.strip())
        if not number.isdecimal() or int(number) in {other.number for other in program.way}:
            raise Malformed("a number from 1 on that no other place has, and the function")
        program.way.append(ExpectedPlace(int(number), function, file, line, place.at))


def _once(present: object, name: str) -> None:
    if present is not None:
        raise Malformed(f"a second {name}")


@key("memory")
def _memory(program: Program, args: list[str], value: str, place: Place) -> None:
    name, sign, rest = value.partition("=")
    if not sign:
        raise Malformed("name = [...]")
    rest = rest.strip()
    items = ("expect",) if rest == "expect" else notation.memory_items(rest)
    program.memory.append(ExpectedMemory(name.strip(), items, place.at))


@key("calls")
def _calls(program: Program, args: list[str], value: str, place: Place) -> None:
    for part in value.split(","):
        name, _, count = part.partition("=")
        program.calls.append((name.strip(), whole_number(count.strip()), place.at))


@key("request")
def _request(program: Program, args: list[str], value: str, place: Place) -> None:
    _on_request(program, "request", args, value, place)


@key("wire")
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
        whole_number(operand)
    elif operator == "absent":
        if operand:
            raise Malformed("nothing follows absent")
    elif kind == "request" or operator == "contains":
        compact(operand)
    elif not operand:
        raise Malformed("a value is missing")


@key("exit")
def _exit(program: Program, args: list[str], value: str, place: Place) -> None:
    program.exit = tuple(whole_number(form) for form in _either(value)), place.at


@key("asserts")
def _asserts(program: Program, args: list[str], value: str, place: Place) -> None:
    program.asserts = whole_number(value), place.at


@key("tests")
def _tests(program: Program, args: list[str], value: str, place: Place) -> None:
    outcomes = {}
    for part in split_outside_strings(value, ","):
        name, _, outcome = part.rpartition(" ")
        if outcome not in ("pass", "fail") or not name:
            raise Malformed("name pass, name fail")
        name = name.strip()
        outcomes[json.loads(name) if name.startswith('"') else name] = outcome
    program.tests = outcomes, place.at


@key("reject")
def _reject(program: Program, args: list[str], value: str, place: Place) -> None:
    code, rest = take_word(value)
    stage = rest or ("load" if code.startswith("V0") else "verify")
    if not re.fullmatch(r"V\d{3}", code) or stage not in ("load", "verify"):
        raise Malformed("V111 verify")
    program.reject = code, stage, place.at
