"""Types of the fields of built-in records, and those a literal may make (L-6.9, O-1.106 to O-1.115, O-1.221).

Hands on `RECORD_FIELDS`, `WRITTEN`, `may_be_left_out`, `default_of`. The order is the machine's; a test compares the names.
Must not know: expressions.
"""

from __future__ import annotations

from ..types import ANY, BOOL, FLOAT, INT, MESSAGE, PROVENANCE, STRING, TOOL_CALL, Nilable, Type, array, map_, option

RECORD_FIELDS: dict[str, dict[str, Type]] = {
    "Response": {
        "text": STRING, "tokens_in": INT, "tokens_out": INT, "model": STRING, "provider": STRING, "latency_ms": INT,
        "finish": STRING, "cost": Nilable(FLOAT), "attempts": INT, "cached": BOOL, "data": map_(STRING, ANY),
        "tokens_cached": INT, "tokens_cache_write": INT, "tokens_reasoning": INT,
    },
    "Message": {
        "role": STRING, "content": STRING, "tool_calls": array(TOOL_CALL), "tool_call_id": Nilable(STRING),
    },
    "Prompt": {
        "text": STRING, "model": Nilable(STRING), "temperature": Nilable(FLOAT), "max_tokens": Nilable(INT),
    },
    "Chunk": {"text": STRING},
    "ToolCall": {"id": STRING, "name": STRING, "arguments": map_(STRING, ANY)},
    "LedgerEntry": {"identifier": STRING, "keys": array(STRING), "value": STRING},
    "Entry": {
        "role": STRING, "content": STRING, "tool_calls": array(TOOL_CALL), "tool_call_id": Nilable(STRING), "seq": INT,
        "turn": INT, "run": Nilable(STRING), "by": Nilable(STRING), "origin": STRING, "pinned": BOOL, "tokens": INT, "at": INT,
    },
    "Turn": {
        "turn": INT, "run": Nilable(STRING), "by": Nilable(STRING), "at": INT, "tokens_in": INT, "tokens_out": INT,
        "meta": map_(STRING, ANY), "messages": array(MESSAGE),
    },
    "Fact": {
        "id": INT, "name": STRING, "content": ANY, "source": STRING, "relevance": FLOAT, "recency": FLOAT, "confidence": FLOAT,
        "score": FLOAT, "created_at": INT, "last_accessed": INT, "archived": BOOL, "trust": STRING, "provenance": PROVENANCE,
    },
    "Provenance": {
        "origin": STRING, "by": Nilable(STRING), "run": Nilable(STRING), "rule": Nilable(STRING), "seqs": array(INT),
    },
    "Learned": {"content": ANY, "confidence": FLOAT, "about": array(STRING)},
    "Dominant": {"value": ANY, "frequency": FLOAT},
    "Observed": {"key": STRING, "count": INT, "items": array(map_(STRING, ANY))},
    "Emit": {"channel": STRING, "payload": ANY},
    "ModelUsage": {
        **dict.fromkeys(
            (
                "attempts", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_write", "tokens_reasoning",
                "tokens_estimated",
            ),
            INT,
        ),  # fmt: skip
        "cost": FLOAT, "unpriced": INT,
    },
    "BudgetLeft": {
        "tokens": Nilable(INT), "cost": Nilable(FLOAT), "model_calls": Nilable(INT), "steps": Nilable(INT),
        "seconds": Nilable(FLOAT),
    },
    "HttpResponse": {"status": INT, "body": STRING, "headers": map_(STRING, STRING)},
    "Url": {
        "scheme": STRING, "user": Nilable(STRING), "host": STRING, "port": Nilable(INT), "path": STRING,
        "query": Nilable(STRING), "fragment": Nilable(STRING),
    },
    "DateTime": {
        "year": INT, "month": INT, "day": INT, "hour": INT, "minute": INT, "second": INT, "millisecond": INT,
        "offset_minutes": INT, "zone": STRING,
    },
    "RegexMatch": {"text": STRING, "start": INT, "end": INT, "groups": array(option(STRING))},
}  # fmt: skip

# Records that programs hand over; the others are made by what they tell of.
WRITTEN = ("Message", "Prompt", "ToolCall", "Learned")
# Defaults of fields of literals beside those of their types.
_DEFAULTS: dict[tuple[str, str], float] = {("Learned", "confidence"): 1.0}
_EMPTY = (("Message", "tool_calls"), ("Learned", "about"))


def may_be_left_out(record: str, field: str) -> bool:
    """Whether a field of a literal has a default: nil, no elements, or a constant."""
    nilable = isinstance(RECORD_FIELDS[record][field], Nilable)
    return nilable or (record, field) in _EMPTY or (record, field) in _DEFAULTS


def default_of(record: str, field: str) -> float | list[object] | None:
    """That of a field which may be left out."""
    if (record, field) in _EMPTY:
        return []
    return _DEFAULTS.get((record, field))
