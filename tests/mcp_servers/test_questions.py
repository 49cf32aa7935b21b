"""Which answer fits the form of a question, and how often a server may speak during a request (O-4.54, O-4.55)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.mcp.questions import MOST_PROGRESS, MOST_QUESTIONS, Caller, Question, Reply, fault_of
from concerto.runtime.mcp.served import ServerFailure
from concerto.vm.values import Err, ErrorValue, Map, Ok

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 4},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "size": {"type": "number"},
        "sure": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "tone": {"type": "string", "oneOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}]},
        "some": {"type": "array", "items": {"type": "string", "enum": ["p", "q"]}, "minItems": 1, "maxItems": 2},
        "named": {"type": "array", "items": {"anyOf": [{"const": "p"}, {"const": "q"}]}},
    },
    "required": ["name"],
}
FITTING: list[dict[str, Any]] = [
    {"name": "ab"}, {"name": "abcd", "age": 0, "size": 1.5, "sure": False}, {"name": "ab", "age": 3.0, "size": 2},
    {"name": "ab", "kind": "a", "tone": "y", "some": ["p", "q"], "named": ["q"]}, {"name": "ab", "named": []},
]  # fmt: skip
MISFITS: list[tuple[dict[str, Any], str]] = [
    ({}, "missing: name"), ({"name": "a"}, "name: minLength is 2"), ({"name": "abcde"}, "name: maxLength is 4"),
    ({"name": 5}, "name: expected string"), ({"name": None}, "name: expected string"),
    ({"name": "ab", "age": -1}, "age: minimum is 0"), ({"name": "ab", "age": 121}, "age: maximum is 120"),
    ({"name": "ab", "age": 1.5}, "age: expected integer"), ({"name": "ab", "age": True}, "age: expected integer"),
    ({"name": "ab", "size": "1"}, "size: expected number"), ({"name": "ab", "sure": 1}, "sure: expected boolean"),
    ({"name": "ab", "kind": "c"}, "kind: expected one of a, b"), ({"name": "ab", "tone": "z"}, "tone: expected one of x, y"),
    ({"name": "ab", "some": "p"}, "some: expected array"), ({"name": "ab", "some": ["z"]}, "some: expected some of p, q"),
    ({"name": "ab", "some": []}, "some: minItems is 1"), ({"name": "ab", "some": ["p", "q", "p"]}, "some: maxItems is 2"),
    ({"name": "ab", "named": [5]}, "named: expected some of p, q"),
    ({"name": "ab", "nose": 1}, "there is no field nose; the fields are: name, age, size, sure, kind, tone, some, named"),
]  # fmt: skip


def test_an_answer_fits_its_form_or_the_fault_is_named() -> None:
    assert [fault_of(FORM, content) for content in FITTING] == [None] * len(FITTING)
    assert [fault_of(FORM, content) for content, _ in MISFITS] == [fault for _, fault in MISFITS]


def test_a_form_that_is_none_asks_for_nothing() -> None:
    odd: dict[str, Any] = {"properties": {"a": {"type": "odd"}}}
    forms: list[dict[str, Any]] = [{}, {"properties": 5, "required": 5}, {"required": [{}, 5]}, odd]
    for form in forms:
        assert fault_of(form, {}) is None
    assert fault_of({}, {"a": 1}) == "there is no field a; the fields are: none"
    assert fault_of({"properties": {"a": 5}}, {"a": 1}) is None


class Run:
    """What a caller uses of a session; each question gets the same answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.emits: list[Any] = []
        self.logged: list[str] = []
        self.redactor = Redactor()
        self.host = self

    def warn(self, text: str) -> None:
        self.logged.append(text)

    async def ask(self, effect: Any, channel: str, payload: Any) -> Any:
        self.emits.append(payload)
        return self.answer

    def runtime_emit(self, channel: str, payload: Any) -> None:
        self.emits.append(payload)


def caller(run: Any) -> Caller:
    return Caller(run, None, "Wiki", "lend")  # type: ignore[arg-type]


def reply(run: Any, question: Question) -> Reply:
    return asyncio.run(caller(run).reply(question))


PAGE = Question("go", None, "https://a.example/")


def test_what_an_answer_means() -> None:
    empty = Question("sure?", {"type": "object", "properties": {}})
    for answer, question, action in (
        (None, empty, "decline"), (False, PAGE, "decline"), (True, PAGE, "accept"), (True, empty, "accept"),
        (Map({}), empty, "accept"),
    ):  # fmt: skip
        assert reply(Run(Ok(answer)), question).action == action
    for answer, question in ((Map({}), PAGE), ("yes", empty), (3, PAGE), (True, Question("?", FORM))):
        with pytest.raises(ServerFailure, match="the answer on mcp:elicit does not fit: "):
            reply(Run(Ok(answer)), question)


def test_who_does_not_answer_is_told_of() -> None:
    for variant, action, word in (("NoListener", "decline", "declined"), ("Timeout", "cancel", "cancelled")):
        run = Run(Err(ErrorValue("EmitError", variant, "nobody", {})))
        assert reply(run, PAGE).action == action
        assert run.logged == [f"mcp Wiki asks `go`: nobody; it was {word}"]
    with pytest.raises(ServerFailure, match="mcp Wiki: the answer on mcp:elicit: it broke"):
        reply(Run(Err(ErrorValue("EmitError", "HandlerFailed", "it broke", {}))), PAGE)


def test_the_texts_of_a_question_are_cleaned_and_cut() -> None:
    run = Run(Ok(None))
    reply(run, Question(f"{chr(0xE0041)}{'x' * 3000}", {"properties": {f"a{chr(0xE0041)}": {}}}))
    (payload,) = run.emits
    assert (payload["message"], payload["schema"]) == ("x" * 2000, {"properties": {"a": {}}})


def test_a_request_asks_ten_times_and_no_more() -> None:
    async def ask() -> None:
        one = caller(Run(Ok(None)))
        for _ in range(MOST_QUESTIONS):
            await one.reply(PAGE)
        with pytest.raises(ServerFailure, match="mcp Wiki: lend asks more than 10 times"):
            await one.reply(PAGE)

    asyncio.run(ask())


def test_progress_has_its_limit_and_is_of_figures() -> None:
    run = Run(None)
    one = caller(run)
    for wrong in (float("nan"), float("inf")):
        one.progress(wrong, None, None)
        one.progress(1.0, wrong, None)
    assert run.emits == []
    for _ in range(MOST_PROGRESS + 10):
        one.progress(1, 2, "half")
    assert len(run.emits) == MOST_PROGRESS - 4
    assert run.emits[0] == {"server": "Wiki", "tool": "lend", "progress": 1.0, "total": 2.0, "message": "half"}
    assert run.logged == ["mcp Wiki: lend reports more than 1000 times; no more of it is emitted"]
