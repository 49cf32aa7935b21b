"""What is rewritten before it is stored (M-4.4): `Pii`, and the functions of a declaration, over every text of a message.

Hands on messages. A redactor that fails stores nothing. Must not know: logs, secrets of the configuration.
"""

from __future__ import annotations

import re

from ..records import Call, Msg
from .errors import redaction_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

EMAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
API_KEY = re.compile(r"\b(?:sk|pk|rk|xox[abprs]|gh[opsu]|glpat|AKIA|AIza)[-_]?[A-Za-z0-9_-]{14,}")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.]?\d)")
PHONE = re.compile(r"(?<![\w.])(?:\+|00)?\(?\d(?:[ ()/.-]{0,2}\d){6,14}(?![\w.]?\d)")
DATE_OR_VERSION = re.compile(r"\d{4}-\d\d-\d\d(?:\D.*)?|\d+(?:\.\d+)+")


class SecretFilter:
    """A redactor that is no function of a program: it takes the secrets of the configuration out of what goes to a store."""

    __slots__ = ("clean",)

    def __init__(self, clean: Callable[[str], str]) -> None:
        self.clean = clean

    def __call__(self, text: str) -> str:
        return self.clean(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretFilter) and self.clean == other.clean

    def __hash__(self) -> int:
        return hash(self.clean)


def pii(text: str) -> str:
    """E-mail addresses, API keys, IBANs, card and phone numbers become `[redacted:KIND]`."""
    text = EMAIL.sub("[redacted:email]", text)
    text = API_KEY.sub("[redacted:api_key]", text)
    text = IBAN.sub(_iban, text)
    text = CARD.sub(_card, text)
    return PHONE.sub(_phone, text)


def _iban(found: re.Match[str]) -> str:
    digits = "".join(str(int(letter, 36)) for letter in _rotated(found[0]))
    return "[redacted:iban]" if int(digits) % 97 == 1 else found[0]


def _rotated(text: str) -> str:
    plain = text.replace(" ", "")
    return plain[4:] + plain[:4]


def _card(found: re.Match[str]) -> str:
    """Only what the check digit (Luhn) makes a card number."""
    total = 0
    for at, digit in enumerate(reversed([int(character) for character in found[0] if character.isdigit()])):
        doubled = digit * 2 if at % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return "[redacted:card]" if total % 10 == 0 else found[0]


def _phone(found: re.Match[str]) -> str:
    """A bare row of digits is a number, a date or a version, unless it is written as phone numbers are."""
    text = found[0]
    written_so = text.startswith(("+", "00", "(")) or (text.startswith("0") and len(text) > 8) or text.count("-") == 2
    if not written_so or DATE_OR_VERSION.fullmatch(text):
        return text
    return "[redacted:phone]"


def redacted(message: Msg, redactors: Sequence[Callable[[str], str]]) -> Msg:
    """The message with every text, argument and result rewritten."""
    try:
        content = _clean(message.content, redactors)
        calls = tuple(_clean_call(call, redactors) for call in message.calls)
    except Exception as error:
        raise redaction_failed(str(error) or type(error).__name__) from None
    state = message.state
    if state is not None and not _stays(message, content, calls, redactors):
        state = None
    return Msg(message.role, content, calls, message.call_id, message.is_error, state)


def _stays(message: Msg, content: str, calls: Sequence[Call], redactors: Sequence[Callable[[str], str]]) -> bool:
    """Whether what a provider wants back may stay with a message (M-5.25): it repeats the text, and no function of a program
    may look into it, so it goes with any rewriting and where such a function redacts."""
    if message.state is None or not all(one is pii or type(one) is SecretFilter for one in redactors):
        return False
    same = content == message.content and [call.as_json() for call in calls] == [call.as_json() for call in message.calls]
    return same and _clean_json(message.state.content, redactors) == message.state.content


def _clean(text: str, redactors: Sequence[Callable[[str], str]]) -> str:
    for redactor in redactors:
        text = redactor(text)
        if not isinstance(text, str):
            raise TypeError(f"it gave {type(text).__name__} instead of String")
    return text


def _clean_call(call: Call, redactors: Sequence[Callable[[str], str]]) -> Call:
    """Of arguments that are an object their text only says the same again."""
    if call.arguments is None:
        return Call(call.id, call.name, None, _clean(call.text, redactors) if call.text else call.text)
    arguments = _clean_json(call.arguments, redactors)
    return Call(call.id, call.name, arguments, call.text if arguments == call.arguments else "")


def _clean_json(value: Any, redactors: Sequence[Callable[[str], str]]) -> Any:
    if isinstance(value, str):
        return _clean(value, redactors)
    if isinstance(value, list):
        return [_clean_json(item, redactors) for item in value]
    if isinstance(value, dict):
        return {name: _clean_json(item, redactors) for name, item in value.items()}
    return value


def redacted_json(value: Any, redactors: Sequence[Callable[[str], str]]) -> Any:
    """Of a fact (M-4.4)."""
    try:
        return _clean_json(value, redactors)
    except Exception as error:
        raise redaction_failed(str(error) or type(error).__name__) from None
