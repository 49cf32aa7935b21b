"""Compares what a driver did with what a program expects, and routes with each other (C-5.1 to C-5.8, C-7.2).

Hands on `compare` and `drift` to the runner. What is missing or wrong becomes a `Failure`; an empty list is a pass. A new kind of
expectation is a function in the list of `compare`. Nothing is run, printed or changed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from . import requests
from .notation import items_of_messages, text_of
from .records import Diagnostic, ExpectedDiagnostic, ExpectedEmit, Failure, Json, Observation, Program, is_of_runtime

_STAGE_OF_CODE = {"E0": "parse", "E1": "names", "E2": "types", "E3": "flow", "E4": "declare"}
_EXITS = {"ok": (0,), "panic": (1, 77), "fails": (1, 77), "errors": (65,), "rejected": (74,), "failed tests": (1,)}


def compare(program: Program, seen: Observation) -> list[Failure]:
    """Return a Failure for every expectation of the program that one run did not meet; what the world had to complain of comes
    first."""
    failures = [Failure(at, expected, came) for at, expected, came in seen.problems]
    for part in (_rejection, _diagnostics, _ending, _emits, _memories, _calls, _requests, _tests, _exit):
        failures.extend(part(program, seen))
    return failures


def _rejection(program: Program, seen: Observation) -> Iterator[Failure]:
    if not program.reject:
        return
    code, stage, at = program.reject
    result = seen.result
    came = f"{result.get('status')} {result.get('code')} {result.get('stage')}"
    if came != f"rejected {code} {stage}":
        yield Failure(at, f"rejected {code} {stage}", came)


# --- diagnostics


def _diagnostics(program: Program, seen: Observation) -> Iterator[Failure]:
    left = list(seen.result.get("diagnostics") or [])
    missing = []
    for wanted in program.diagnostics:
        match = next((d for d in left if _is(wanted, d)), None)
        if match is None:
            missing.append(wanted)
        else:
            left.remove(match)
    for wanted in missing:
        near = next((d for d in left if d.get("code") in [form.code for form in wanted.either]), None)
        if near is not None:
            left.remove(near)
        yield Failure(wanted.at, _show_wanted(wanted), "nothing" if near is None else _show_diagnostic(near))
    for extra in left:
        at = program.offsets.get(str(extra.get("file")), 0) + int(extra.get("line") or 0)
        yield Failure(at, "no further diagnostic", _show_diagnostic(extra))


def _is(wanted: ExpectedDiagnostic, diagnostic: Json) -> bool:
    place = wanted.file, wanted.line, wanted.severity
    if (diagnostic.get("file"), diagnostic.get("line"), diagnostic.get("severity")) != place:
        return False
    if wanted.column is not None and diagnostic.get("column") != wanted.column:
        return False
    return any(_fits(form, diagnostic) for form in wanted.either)


def _fits(form: Diagnostic, diagnostic: Json) -> bool:
    stage = form.stage or _STAGE_OF_CODE.get(form.code[:2])
    if diagnostic.get("code") != form.code or (stage and diagnostic.get("stage") != stage):
        return False
    return form.part is None or form.part in str(diagnostic.get("message"))


def _show_wanted(wanted: ExpectedDiagnostic) -> str:
    column = "" if wanted.column is None else f":{wanted.column}"
    forms = []
    for form in wanted.either:
        stage = form.stage or _STAGE_OF_CODE.get(form.code[:2], "")
        forms.append(f"{form.code} {stage} {'' if form.part is None else text_of(form.part)}".strip())
    return f"{wanted.severity} {' | '.join(forms)} at {wanted.file}:{wanted.line}{column}"


def _show_diagnostic(d: Json) -> str:
    place = f"{d.get('file')}:{d.get('line')}:{d.get('column')}"
    return f"{d.get('severity')} {d.get('code')} {d.get('stage')} {text_of(d.get('message'))} at {place}"


# --- how the run ended


def _ending(program: Program, seen: Observation) -> Iterator[Failure]:
    wanted, came = _wanted_status(program), str(seen.result.get("status"))
    if program.reject:
        return
    if came != wanted:
        yield Failure(_ending_line(program), f"status {wanted}", _show_ending(seen.result))
    elif program.panic:
        yield from _panic(program, seen.result.get("panic") or {})
    elif program.fails:
        yield from _fails(program, seen.result.get("fails") or {})
    elif came == "error" and seen.result.get("fails"):
        yield Failure(_ending_line(program), "compile errors", _show_ending(seen.result))


def _wanted_status(program: Program) -> str:
    if program.panic:
        return "panic"
    return "error" if program.fails or program.rejects or _a_test_fails(program) else "ok"


def _a_test_fails(program: Program) -> bool:
    return program.tests is not None and "fail" in program.tests[0].values()


def _ending_line(program: Program) -> int:
    for wanted in (program.panic, program.fails, *program.diagnostics):
        if wanted is not None:
            return wanted.at
    return program.offsets.get("main.conc", 0) + 1


def _show_ending(result: Json) -> str:
    panic, fails = result.get("panic"), result.get("fails")
    if panic:
        place = f"{panic.get('file')}:{panic.get('line')}:{panic.get('column')}"
        return f"panic {panic.get('code')} {text_of(panic.get('message'))} at {place}"
    if fails:
        variant = f"::{fails['variant']}" if fails.get("variant") else ""
        return f"fails {fails.get('kind')}{variant} {text_of(fails.get('message'))}"
    if result.get("status") == "rejected":
        return f"rejected {result.get('code')} {result.get('stage')}"
    return f"status {result.get('status')}"


def _panic(program: Program, panic: Json) -> Iterator[Failure]:
    wanted = program.panic
    assert wanted
    here = (panic.get("file"), panic.get("line")) == (wanted.file, wanted.line)
    message = str(panic.get("message"))
    if not here or not any(code == panic.get("code") and (part or "") in message for code, part in wanted.either):
        forms = " | ".join(f"{code} {'' if part is None else text_of(part)}".strip() for code, part in wanted.either)
        yield Failure(wanted.at, f"panic {forms} at {wanted.file}:{wanted.line}", _show_ending({"panic": panic}))


def _fails(program: Program, fails: Json) -> Iterator[Failure]:
    wanted = program.fails
    assert wanted
    for kind, variant, part in wanted.either:
        same_variant = variant is None or variant == fails.get("variant")
        if kind == fails.get("kind") and same_variant and (part or "") in str(fails.get("message")):
            yield from _way(program, fails.get("way") or [])
            return
    yield Failure(wanted.at, f"fails {wanted.either}", _show_ending({"fails": fails}))


def _way(program: Program, came: list[Json]) -> Iterator[Failure]:
    """Yield what differs in the places that an error passed; all of them are compared, in their order, if the program names
    any."""
    wanted = sorted(program.way, key=lambda place: place.number)
    if not wanted:
        return
    shown = [str(p) if isinstance(p, int) else f"{p.get('function')} {p.get('file')}:{p.get('line')}" for p in came]
    for number, place in enumerate(wanted, 1):
        text = f"{place.function} {place.file}:{place.line}"
        if place.number != number or shown[number - 1 : number] != [text]:
            yield Failure(place.at, f"way {place.number} {text}", ", ".join(shown) or "no way")
    if len(shown) > len(wanted):
        yield Failure(wanted[-1].at, f"a way of {len(wanted)} places", ", ".join(shown))


# --- emits


def _emits(program: Program, seen: Observation) -> Iterator[Failure]:
    """Yield the first difference in the emits, which are compared in order, groups of `emit~` as multisets. Emits of the runtime
    count only on channels that the program names (C-5.2)."""
    named = program.runtime_channels
    came = [e for e in seen.emits if e[0] in named or not is_of_runtime(e[0])]
    at = 0
    for group in _groups(program.emits):
        part = came[at : at + len(group)]
        at += len(group)
        failure = _one_emit(group[0], part) if len(group) == 1 else _unordered(group, part)
        if failure:
            yield failure
            return
    if at < len(came):
        line = program.emits[-1].at if program.emits else _ending_line(program)
        yield Failure(line, "no further emit", f"emit {_show_emit(came[at])}")


def _groups(emits: list[ExpectedEmit]) -> list[list[ExpectedEmit]]:
    groups: list[list[ExpectedEmit]] = []
    for emit in emits:
        if groups and emit.group is not None and groups[-1][0].group == emit.group:
            groups[-1].append(emit)
        else:
            groups.append([emit])
    return groups


def _one_emit(wanted: ExpectedEmit, came: list[tuple[str, str]]) -> Failure | None:
    if came and came[0] in wanted.either:
        return None
    forms = " | ".join(map(_show_emit, wanted.either))
    return Failure(wanted.at, f"emit {forms}", f"emit {_show_emit(came[0])}" if came else "no further emit")


def _unordered(group: list[ExpectedEmit], came: list[tuple[str, str]]) -> Failure | None:
    left = Counter(came)
    for wanted in group:
        match = next((form for form in wanted.either if left[form] > 0), None)
        if match is None:
            forms = " | ".join(map(_show_emit, wanted.either))
            return Failure(wanted.at, f"emit {forms} in any order", "; ".join(map(_show_emit, came)) or "no emit")
        left[match] -= 1
    return None


def _show_emit(emit: tuple[str, str]) -> str:
    return f"{emit[0]} {emit[1]}"


# --- the rest of the result


def _memories(program: Program, seen: Observation) -> Iterator[Failure]:
    for wanted in program.memory:
        messages = (seen.result.get("memories") or {}).get(wanted.name)
        if messages is None:
            yield Failure(wanted.at, f"a memory {wanted.name}", "none of that name")
            continue
        came = items_of_messages(messages)
        if came != wanted.items:
            yield Failure(wanted.at, f"memory [{', '.join(wanted.items)}]", f"[{', '.join(came)}]")


def _calls(program: Program, seen: Observation) -> Iterator[Failure]:
    reported = seen.result.get("calls") or {}
    sent = Counter(str(r.get("name")) for r in seen.requests if r.get("kind") == "model")
    for name, count, at in program.calls:
        if (came := reported.get(name, 0)) != count:
            yield Failure(at, f"{count} calls of {name}", str(came))
    for name, count in sent.items():
        if reported and (came := reported.get(name, 0)) != count:
            yield Failure(0, f"calls.{name} equal to its {count} requests", str(came))


def _requests(program: Program, seen: Observation) -> Iterator[Failure]:
    for wanted in program.requests:
        failure = requests.check(wanted, seen.requests)
        if failure:
            yield failure


def _tests(program: Program, seen: Observation) -> Iterator[Failure]:
    if program.asserts and (seen.result.get("asserts") or 0) != program.asserts[0]:
        yield Failure(program.asserts[1], f"{program.asserts[0]} asserts", str(seen.result.get("asserts")))
    if program.tests:
        wanted, at = program.tests
        came = {t.get("name"): t.get("outcome") for t in seen.result.get("tests") or []}
        if came != wanted:
            yield Failure(at, f"tests {wanted}", str(came))


def _exit(program: Program, seen: Observation) -> Iterator[Failure]:
    """Yield a wrong exit status: another than the program asks for, else one that does not fit how the run ended (O-9.10)."""
    came = seen.result.get("exit")
    if program.exit is None and not program.reject and seen.result.get("status") != _wanted_status(program):
        return
    if program.exit is not None:
        wanted, at = program.exit
    else:
        wanted, at = _EXITS[_kind_of_ending(program)], _ending_line(program)
    if came not in wanted and not (came is None and program.exit is None):
        yield Failure(at, f"exit {' or '.join(map(str, wanted))}", f"exit {came}")


def _kind_of_ending(program: Program) -> str:
    if program.reject:
        return "rejected"
    if program.panic:
        return "panic"
    if program.fails:
        return "fails"
    if program.rejects:
        return "errors"
    return "failed tests" if _a_test_fails(program) else "ok"


# --- routes


def drift(first: Observation, other: Observation) -> list[tuple[str, str, str]]:
    """Return what differs between two routes of one program, as triples of the part's name and its JSON text on the first and on
    the other route. Fuel counts only where both tell it (C-7.2, C-7.3)."""
    one, two = _comparable(first), _comparable(other)
    if first.result.get("fuel") is None or other.result.get("fuel") is None:
        one["fuel"] = two["fuel"] = None
    return [(key, text_of(one[key]), text_of(two[key])) for key in one if one[key] != two[key]]


_RESULT_PARTS = ("status", "panic", "fails", "exit", "fuel", "asserts", "memories", "calls", "tests", "stage", "code")


def _comparable(seen: Observation) -> dict[str, Any]:
    parts: dict[str, Any] = {key: seen.result.get(key) for key in _RESULT_PARTS}
    parts["diagnostics"] = sorted(text_of(d) for d in seen.result.get("diagnostics") or [])
    parts["emits"] = seen.emits
    sent = ("to", "kind", "name", "attempt", "record", "wire", "headers")
    parts["requests"] = [[text_of(r.get(key)) for key in sent] for r in seen.requests]
    return parts
