"""Requests, replies and failures as JSON, and back: what the rows of a journal hold of them (G-14.1).

Hands on `digest_of`, `cleaned`, `without_infinities`, `hidden` and `shown`, `reply_form` and `reply_of`, `failure_form` and
`failure_of`, `difference` and `brief` to the other files of this folder, the last two also to `cli/trace_check.py`; and
`canonical`, the text of which the digest is made, to the border and the views of `concerto trace`. A request has no way back: it
is compared, never sent again from a file. A field that is not in the lists below does not get into a file (G-14.4).
"""

from __future__ import annotations

import json
from math import isfinite

from ...vm.panics import Panic
from ...vm.values import check, from_json
from ...vm.values.errors import FIELD_TYPES
from ..errors import CallFailure, NotSent
from ..records import Call, Citation, Reply
from .rows import MOST, JournalRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..access.snapshot_secrets import SnapshotSecrets

    Json = Any


def canonical(plain: Json) -> str:
    """Return the one text of plain data: keys in order, no spaces."""
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def digest_of(plain: Json) -> str:
    """Return the digest of a request: 32 hexadecimal digits of the SHA-256 of its canonical text."""
    import hashlib  # a run without a journal starts without it

    return hashlib.sha256(canonical(plain).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def without_infinities(plain: Json) -> Json:
    """Return plain data as JSON has it, with null for NaN and infinities (L-5.1.2): what is told of a run. What is compared keeps
    them, in its digest."""
    if isinstance(plain, float):
        return plain if isfinite(plain) else None
    if isinstance(plain, dict):
        return {name: without_infinities(part) for name, part in plain.items()}
    return [without_infinities(part) for part in plain] if isinstance(plain, list | tuple) else plain


def cleaned(plain: Json, clean: Callable[[str], str]) -> Json:
    """Return plain data whose texts, keys of objects too, went through `clean`."""
    if isinstance(plain, str):
        return clean(plain)
    if isinstance(plain, (list, tuple)):
        return [cleaned(item, clean) for item in plain]
    if isinstance(plain, dict):
        return {clean(str(name)): cleaned(item, clean) for name, item in plain.items()}
    return plain


# ---------------------------------------------------------------- secrets

HIDDEN = "hidden"  # in a form with secrets, the field of what stands for a text with some, or for an object that has such a field


def hidden(plain: Json, secrets: SnapshotSecrets) -> Json:
    """Return plain data with names in place of secrets, as an object with the field HIDDEN; without secrets as it is. Keys of
    objects are cleaned for good."""
    form = _hidden(plain, secrets)
    return plain if form == plain else {HIDDEN: form}


def _hidden(plain: Json, secrets: SnapshotSecrets) -> Json:
    if isinstance(plain, str):
        parts = secrets.parts_of(plain)
        return plain if len(parts) == 1 else {HIDDEN: parts}
    if isinstance(plain, (list, tuple)):
        return [_hidden(item, secrets) for item in plain]
    if isinstance(plain, dict):
        form = {secrets.clean(name): _hidden(item, secrets) for name, item in plain.items()}
        return {HIDDEN: form} if HIDDEN in form else form
    return plain


def shown(form: Json, secrets: SnapshotSecrets) -> Json:
    """Return the plain data that `hidden` was given, which has no field HIDDEN. Only granted secrets come back."""
    return _shown(form[HIDDEN], secrets) if isinstance(form, dict) and HIDDEN in form else form


def _shown(form: Json, secrets: SnapshotSecrets) -> Json:
    if isinstance(form, list):
        return [_shown(item, secrets) for item in form]
    if not isinstance(form, dict):
        return form
    inner = form.get(HIDDEN, form)
    if isinstance(inner, list):
        return "".join([secrets.value(part) if at % 2 else part for at, part in enumerate(inner)])
    return {name: _shown(item, secrets) for name, item in inner.items()}


# ---------------------------------------------------------------- replies

_TEXTS = ("text", "finish", "model")
_COUNTS = ("tokens_in", "tokens_out", "cached", "cache_write", "reasoning")


def reply_form(reply: Reply) -> Json:
    """Return a reply as plain data; what is not set is left out."""
    form: dict[str, Json] = {name: getattr(reply, name) for name in (*_TEXTS, *_COUNTS)}
    form["calls"] = [[call.id, call.name, call.arguments, call.text] for call in reply.calls]
    form["reports"] = list(reply.reports)
    form["citations"] = [[each.url, each.title, each.start, each.end] for each in reply.citations]
    form["hosted"] = dict(reply.hosted)
    form["notes"] = list(reply.notes)
    for name in ("raw", "data", "thoughts", "container"):
        form[name] = getattr(reply, name)
    return {name: value for name, value in form.items() if value not in (None, "", 0, [], {})}


def reply_of(form: Json) -> Reply:
    """Return the reply of plain data. Raises JournalRefused where it is none."""
    try:
        return Reply(
            _typed(form.get("text", ""), str),
            calls=[_call_of(*each) for each in _typed(form.get("calls", []), list)],
            finish=_typed(form.get("finish", "stop"), str),
            model=_typed(form.get("model", ""), str),
            reports=_pair_of(form.get("reports", [True, True])),
            raw=form.get("raw"),
            notes=[_typed(note, str) for note in _typed(form.get("notes", []), list)],
            data=_data(form.get("data")),
            thoughts=_optional(form.get("thoughts"), str),
            citations=[_citation_of(*each) for each in _typed(form.get("citations", []), list)],
            hosted={name: _count(count) for name, count in _typed(form.get("hosted", {}), dict).items()},
            container=_optional(form.get("container"), str),
            **{name: _count(form.get(name, 0)) for name in _COUNTS},
        )
    except (TypeError, ValueError, AttributeError, Panic):
        raise JournalRefused("holds a reply that none is") from None


def _call_of(id: Json, name: Json, arguments: Json, text: Json) -> Call:
    return Call(_typed(id, str), _typed(name, str), _data(_optional(arguments, dict)), _typed(text, str))


def _citation_of(url: Json, title: Json, start: Json, end: Json) -> Citation:
    return Citation(_typed(url, str), _optional(title, str), _count(start), _count(end))


def _pair_of(reports: Json) -> tuple[bool, bool]:
    tokens_in, tokens_out = _typed(reports, list)
    return _typed(tokens_in, bool), _typed(tokens_out, bool)


def _optional(value: Json, kind: type) -> Any:
    return None if value is None else _typed(value, kind)


def _count(value: Json) -> int:
    if not 0 <= _typed(value, int) < MOST:
        raise ValueError
    return int(value)


def _data(value: Json) -> Json:
    from_json(value)  # raises ValueError or Panic for what no value of a program can be
    return value


def _typed(value: Json, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value


# ---------------------------------------------------------------- failures

_SECONDS = FIELD_TYPES["timeout_seconds"]


def failure_form(failure: CallFailure) -> Json:
    """Return a failure as plain data."""
    form = {
        "kind": failure.kind, "variant": failure.variant, "message": failure.message, "retry_class": failure.retry_class,
        "not_sent": isinstance(failure, NotSent), "fields": _plain_fields(failure),
    }  # fmt: skip
    return {name: value for name, value in form.items() if value not in (None, False, {})}


def _plain_fields(failure: CallFailure) -> Json:
    return {
        name: {"failure": failure_form(value)} if isinstance(value, CallFailure) else value
        for name, value in failure.fields.items()
    }  # fmt: skip


def failure_of(form: Json) -> CallFailure:
    """Return the failure of plain data. Raises JournalRefused where it is none."""
    try:
        fields = {str(name): _field_of(name, value) for name, value in form.get("fields", {}).items()}
        cls = NotSent if form.get("not_sent") else CallFailure
        return cls(
            _typed(form["kind"], str), _optional(form.get("variant"), str), _typed(form["message"], str),
            _optional(form.get("retry_class"), str), **fields,
        )  # fmt: skip
    except (TypeError, ValueError, KeyError, AttributeError, Panic):
        raise JournalRefused("holds a failure that none is") from None


def _field_of(name: str, value: Json) -> Any:
    """Return a field of a failure: a failure itself, or plain data of the type that errors of the language have there."""
    if isinstance(value, dict) and value.keys() == {"failure"}:
        return failure_of(value["failure"])
    is_seconds = FIELD_TYPES.get(name) == _SECONDS and type(value) is int
    check(from_json(float(value) if is_seconds else value), FIELD_TYPES.get(name, ("any",)))
    return value


# ---------------------------------------------------------------- differences


def difference(recorded: Json, asked: Json, at: str = "$") -> str:
    """Return the first place where two requests differ, with what stands there in each; "" where they are the same."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for name in sorted({*recorded, *asked}):
            place = f"{at}.{name}"
            if name not in recorded:
                return f"{place}: nothing in the file, now {brief(asked[name])}"
            if name not in asked:
                return f"{place}: {brief(recorded[name])} in the file, now nothing"
            if found := difference(recorded[name], asked[name], place):
                return found
        return ""
    if isinstance(recorded, list) and isinstance(asked, list):
        for index, (one, other) in enumerate(zip(recorded, asked, strict=False)):
            if found := difference(one, other, f"{at}[{index}]"):
                return found
        if len(recorded) != len(asked):
            return f"{at}: {len(recorded)} items in the file, now {len(asked)}"
        return ""
    return "" if recorded == asked else f"{at}: {brief(recorded)} in the file, now {brief(asked)}"


def brief(plain: Json) -> str:
    """Return plain data as a text of at most 120 characters."""
    text = canonical(plain)
    return text if len(text) <= 120 else f"{text[:119]}…"
