"""What leaves a session is without secrets, whatever kind of value holds them, also where a text was cut, and else as it was
(G-10.3)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest
from concerto.runtime.access.http_messages import Target, header_fault
from concerto.runtime.access.network import HttpFailure
from concerto.runtime.access.secrets import SHORTEST_SECRET, Redactor, without_secrets
from concerto.runtime.agents.child import STDERR_KEPT, Child, last_words
from concerto.runtime.connections import ConfigFailure, check_fields
from concerto.runtime.effects.dates import Fault, parse
from concerto.runtime.errors import Origin
from concerto.runtime.host import full_text, message_and_fields
from concerto.runtime.memory.facts import TOOL, cut
from concerto.runtime.providers.json_fields import Unreadable, fields_of
from concerto.runtime.schema.validation import Violation, schema_failure
from concerto.vm.builtins import date, strings, url
from concerto.vm.declaration_fields import CONNECTION
from concerto.vm.values import NONE, Array, EnumType, EnumValue, Map, ModelRef, Ok, RangeValue, Some, Variant, equal
from concerto.vm.values.objects import DateTime
from concerto.vm.values.text import brief

Shape = EnumType("E", ["A", Variant("B", 1)])
SECRET, HIDDEN = "a secret text", "<secret NAME>"


@pytest.fixture
def redactor() -> Redactor:
    known = Redactor()
    known.add(SECRET, "NAME")
    return known


@pytest.mark.parametrize("value", [NONE, EnumValue(Shape, 0), ModelRef("M"), RangeValue(1, 3), 1.5, None, Array([]), "secret"])
def test_what_holds_no_text_stays(value: Any, redactor: Redactor) -> None:
    assert equal(without_secrets(value, redactor), value)
    assert equal(without_secrets(Array([value]), redactor), Array([value]))


@pytest.mark.parametrize(
    "around",
    [lambda text: text, Some, Ok, lambda text: Array([text, 1]), lambda text: (text, 1), lambda text: Map({text: text}),
     lambda text: EnumValue(Shape, 1, (text,))],
)  # fmt: skip
def test_texts_inside_are_cleaned(around: Any, redactor: Redactor) -> None:
    assert equal(without_secrets(around(SECRET), redactor), around(HIDDEN))


def refused(kind: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    with pytest.raises(kind) as raised:
        call(*arguments)
    return raised.value


def stderr_of(text: str) -> str:
    async def ended() -> str:
        source = f"import sys; sys.stderr.write({text!r})"
        child = await Child.started("A", [sys.executable, "-c", source], {}, ".")
        await child.end_of_output()
        return child.stderr

    return asyncio.run(ended())


def date_error(text: str) -> str:
    fault = refused(Fault, parse, text, "UTC", "")
    return f"{fault} {fault.source}"


def error_text(error: Any) -> str:
    return f"{error.value.message} {error.value.fields}"


LONG = "sk-0123456789-abcdefghijklm-nopqrstuvwxyz-ABCDEFGHIJKLM-NOPQRSTUVWXYZ"
# What becomes of a text, and how many characters of it are shown, or a few less, since something stands before it.
SHOWN: dict[str, tuple[Callable[[str], str], int]] = {
    "a failure": (lambda text: Origin("m", "c", 1.0).failure("AgentError", "Failed", text).message, 2000),
    "a schema failure": (lambda text: schema_failure([Violation("$", "parse", text)], "").message, 2000),
    "an exception": (lambda text: message_and_fields(str, "it", ValueError(text))[0], 2000),
    "an exception in the log": (lambda text: full_text(ValueError(text)), 2000),
    "a reply that is no JSON": (lambda text: str(refused(Unreadable, fields_of, text.encode())), 60),
    "a long reply of blanks that is no JSON": (lambda text: str(refused(Unreadable, fields_of, b" " * 300 + text.encode())), 100),
    "the last words of an agent": (last_words, 200),
    "a URL": (lambda text: str(refused(HttpFailure, Target, text)), 200),
    "a header": (lambda text: str(header_fault(f"{text} ", "")), 80),
    "a date": (date_error, 64),
    "a pattern": (lambda text: error_text(date.format_function(NOON, text)), 60),
    "a field of a host": (lambda text: refused(ConfigFailure, check_fields, "x", {"provider": [text]}, CONNECTION).message, 80),
    "a number": (lambda text: str(strings.parse_int(text).value.message), 40),
    "an address": (lambda text: error_text(url.parse(text + "\\")).partition("'input'")[2], 200),
    "a value in a panic": (brief, 200),
}
NOON = DateTime.of(parse("2030-01-02T12:00:00Z", "UTC", ""))


@pytest.mark.parametrize("what", SHOWN)
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(what: str) -> None:
    shown, most = SHOWN[what]
    known = Redactor()
    known.add(LONG, "NAME")
    for place in range(max(most - len(LONG) - 20, 0), most):
        text = known.clean(shown("x" * place + LONG + "y" * 3000))
        for start in range(len(LONG) - SHORTEST_SECRET):
            assert LONG[start : start + SHORTEST_SECRET] not in text, (place, text)


def test_no_part_of_a_secret_is_left_where_the_beginning_is_cut_off() -> None:
    known = Redactor()
    known.add(LONG, "NAME")
    text = stderr_of("x" * 100 + LONG + "y" * (STDERR_KEPT - 30))
    assert LONG[-30 + 1 :] in text and len(text) == STDERR_KEPT
    assert known.clean(text) == "…<secret NAME>" + "y" * (STDERR_KEPT - 30)


def test_what_stands_beside_a_cut_stays_unless_it_is_part_of_a_secret() -> None:
    known = Redactor()
    known.add("abcdefgh", "LETTERS")
    known.add("abcd1234", "BOTH")
    for text in ("abc…", "xabcdef", "abcde …", "…fgh", "… defgh", "bcdefg…", "…abcdefg"):
        assert known.clean(text) == text
    assert known.clean("ab abcd… abcd12… abcdefgh…") == "ab <secret LETTERS>… <secret BOTH>… <secret LETTERS>…"
    known.add("ababababab", "PERIODS")
    assert known.clean("xababababa… …bababab") == "x<secret PERIODS>… …<secret PERIODS>"
    assert known.clean("…defgh …1234") == "…<secret LETTERS> …<secret BOTH>"


def test_observations_are_cut_when_they_are_redacted() -> None:
    data = {"result": "x" * 2000, "ok": True, "arguments": {"a": "y" * 2000}}
    assert cut(TOOL, data) == {**data, "result": "x" * 1000}
