"""The steps of a memory as an image carries them (M-2.13): their names, and which values each may have.

Hands on the words of M-2.6 and the checker of the record. Must not know: what a step does, how it is written.
"""

from __future__ import annotations

from . import fields as f
from .limits import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Accepts = Callable[[Any], bool]

ROLES = ("User", "Assistant", "System", "Tool")
ON_FAILURE = ("Discard", "Record")
ON_CONFLICT = ("Append", "Serial", "Reject", "Fork")
REDACTORS = ("Pii",)
INJECT = ("System", "Prefix", "Suffix", "Prompt")
SUMMARY_ROLES = ("System", "User")
TIERS = ("Ephemeral", "Session", "Persistent")
SOURCES = (*TIERS, "Messages")
"""What recall looks through (M-10.40)."""
DIRECTIONS = ("Out", "In", "Both")
REFRESH_ON = ("Access", "Confirm")
EMBEDDER_KINDS = ("offline", "host", "connection")
OBSERVED_TOPICS = ("turn", "turn:tool", "turn:fix")
OBSERVED_PREFIX = "turn:"
"""What the runtime observes of a run, for rules (M-10.43); topics that begin so are its alone."""
TOOL_METHODS = ("remember", "recall", "forget")
"""What a memory in a list of tools offers (M-10.17)."""
STORE_KINDS = ("sqlite", "redis", "postgres", "host")


def is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value < 1 << 63


def is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def is_function(value: Any) -> bool:
    """(memory, number): where initialisation puts the function."""
    return type(value) is list and len(value) == 2 and all(type(part) is int and 0 <= part < 1 << 31 for part in value)


def is_text(value: Any) -> bool:
    return type(value) is str and value != ""


def _list_of(accepts: Accepts) -> Accepts:
    return lambda value: type(value) is list and bool(value) and all(accepts(item) for item in value)


def _names(value: Any) -> bool:
    return type(value) is list and all(is_text(name) for name in value) and len(set(value)) == len(value)


def _table(fields: dict[str, Accepts], needed: tuple[str, ...]) -> Accepts:
    return lambda value: (
        type(value) is dict
        and all(name in fields and fields[name](part) for name, part in value.items())
        and all(name in value for name in needed)
    )


def _one_of(words: tuple[str, ...]) -> Accepts:
    return lambda value: type(value) is str and value in words


def _some_of(words: tuple[str, ...]) -> Accepts:
    return lambda value: type(value) is list and all(type(word) is str and word in words for word in value)


SUMMARY = _table(
    {
        "model": is_text, "function": is_function, "host": is_text, "every_turns": is_count, "every_ms": is_count,
        "max_tokens": is_count, "prompt": is_text, "inject": _one_of(INJECT), "role": _one_of(SUMMARY_ROLES),
    }, (),
)  # fmt: skip
STORE = _table(
    {
        "name": is_text, "kind": _one_of(STORE_KINDS), "path": is_text, "url_env": is_text, "namespace": is_text,
        "compress": lambda value: value is True,
    }, ("name", "kind"),
)  # fmt: skip

def _is_pattern(value: Any) -> bool:
    """A tier or "", and a name, of which only the last character may be the `*` that stands for any end."""
    return (
        type(value) is list and len(value) == 2 and all(type(part) is str for part in value)
        and value[0] in ("", *(tier.lower() for tier in TIERS)) and value[1] != "" and "*" not in value[1][:-1]
    )  # fmt: skip


def _is_fact_rule(value: Any) -> bool:
    """Patterns, readers, writers."""
    return (
        type(value) is list and len(value) == 3 and _list_of(_is_pattern)(value[0]) and _names(value[1]) and _names(value[2])
    )


EMBED = _table(
    {"name": is_text, "kind": _one_of(EMBEDDER_KINDS), "connection": is_text, "model": is_text}, ("name", "kind")
)
RULE = _table(
    {"name": is_text, "on": is_text, "by": is_function, "when": is_function, "store": is_function},
    ("name", "on", "by", "when", "store"),
)

STEPS: dict[str, Accepts] = {
    "retain_low": is_count, "retain_tokens": is_count, "tools": lambda value: value is True,
    "redact": _list_of(lambda value: is_function(value) or _one_of(REDACTORS)(value)),
    "pin_when": _list_of(is_function),
    "clip_with": is_function, "shape": is_function, "weight": is_count, "ttl": is_count, "keys": _names,
    "allow_read": _names, "allow_write": _names, "allow_facts": _list_of(_is_fact_rule), "store": STORE,
    "summary": lambda value: SUMMARY(value) and sum(by in value for by in ("model", "function", "host")) == 1,
    "roles": _some_of(ROLES), "pin_roles": _some_of(ROLES), "prune": is_share,
    "clip": is_count, "window": is_count, "window_low": is_count, "window_turns": is_count, "tokens": is_count,
    "recall": lambda value: value is True,
    "recall_k": is_count, "recall_tiers": _some_of(SOURCES), "recall_min_confidence": is_share, "recall_inject": _one_of(INJECT),
    "recall_half_life": is_count,
    "decay_rate": is_share, "decay_per": is_count, "decay_floor": is_share, "decay_archive_below": is_share,
    "decay_refresh_on": _one_of(REFRESH_ON),
    "embed": lambda value: EMBED(value) and (value["kind"] != "connection" or ("connection" in value and "model" in value)),
    "learn": lambda value: _list_of(RULE)(value) and _apart([rule["name"] for rule in value]),
    "on_failure": _one_of(ON_FAILURE), "on_conflict": _one_of(ON_CONFLICT),
}  # fmt: skip


def _apart(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def _of_decay(name: str) -> bool:
    return name.startswith("decay_")


def steps(value: Any, limits: Limits) -> None:
    """Only known steps, each with a value it may have; the low bound of a window needs its bound."""
    if type(value) is not dict:
        raise f.Misshapen("a map of steps expected")
    for name, given in value.items():
        if name not in STEPS:
            raise f.Misshapen(f"this version knows no memory step {name!r}")
        if not STEPS[name](given):
            raise f.Misshapen("no value of this step").at(f".{name}")
    if "store" in value and value["store"]["kind"] in ("redis", "postgres") and "url_env" not in value["store"]:
        raise f.Misshapen("a server has an address").at(".store")
    if ("decay_rate" in value) != ("decay_per" in value) or ("decay_rate" not in value and any(map(_of_decay, value))):
        raise f.Misshapen("`decay` has a rate per time").at(".decay_rate")
    if "recall" not in value and any(name.startswith("recall_") for name in value):
        raise f.Misshapen("details of a step that is missing").at(".recall")
    if "window_low" in value and value["window_low"] >= value.get("window", 0):
        raise f.Misshapen("`window_low` is not below `window`")
