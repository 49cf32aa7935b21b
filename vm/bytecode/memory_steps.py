"""The steps of a memory as an image carries them (M-2.13): their names, and which values each may have.

Hands on the words of M-2.6 and the checker of the record. Must not know: what a step does, how it is written.
"""

from __future__ import annotations

from . import fields as f
from .limits import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Accepts = Callable[[Any], bool]

ROLES = ("User", "Assistant", "System", "Tool")
ON_FAILURE = ("Discard", "Record")
ON_CONFLICT = ("Append", "Serial", "Reject", "Fork")
REDACTORS = ("Pii",)
INJECT = ("System", "Prefix", "Suffix", "Prompt", "Tool")
FROM = ("Uncovered", "Buffer")
ONLY = ("Summary",)
HOLE = "{}"
"""Where the text around a summary has it (M-9.22)."""
SUMMARY_ROLES = ("System", "User")
TIERS = ("Ephemeral", "Session", "Persistent")
SOURCES = (*TIERS, "Messages")
"""What recall looks through (M-10.40)."""
DIRECTIONS = ("Out", "In", "Both")
REFRESH_ON = ("Access", "Confirm")
REREAD = ("Step",)
EVENTS = {
    "Step": "memory:step", "Commit": "memory:commit", "Rollback": "memory:rollback", "Evict": "memory:evict",
    "Overflow": "memory:overflow", "Conflict": "memory:conflict", "Summary": "memory:summary",
    "SummaryFailed": "memory:summary_failed", "Recall": "memory:recall", "Learn": "memory:learn",
    "LearnFailed": "memory:learn_failed",
}
"""What a function of the program may be called with, by its word: the channel on which hosts hear of it (M-6.25 to M-6.30)."""
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


def is_key_value(value: Any) -> bool:
    """What a key part may be (M-7.4)."""
    if type(value) is str:
        return 0 < len(value.encode("utf-8", "surrogatepass")) <= 1024
    return type(value) is int and -(1 << 63) <= value < 1 << 63


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
        "max_tokens": is_count, "prompt": is_text, "text": lambda value: is_text(value) and value.count(HOLE) == 1,
        "from": _one_of(("Buffer",)), "inject": _one_of(INJECT), "role": _one_of(SUMMARY_ROLES),
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

BOUNDS = {
    "retain": "retain", "retain_low": "low of retain", "retain_tokens": "tokens of retain", "clip": "clip", "window": "window",
    "window_low": "low of window", "window_turns": "turns of window", "tokens": "tokens", "weight": "weight",
    "recall_k": "k of recall",
}  # fmt: skip
"""Those that a run may compute (M-2.14), and what a program calls them."""
MADE = "value"
"""The first part of the key of a memory value, before its bounds: its number in the session (M-2.19)."""
VALUE, COMPUTED = "__value", "__bounds"
"""Methods of handles for generated code: what makes a memory value, and what checks the bounds of a declared memory."""
NOT_OF_A_VALUE = ("keys", "store", "ttl", "decay_rate", "bounds", "was")
HANDLER = _table({"event": _one_of(tuple(EVENTS)), "with": is_function}, ("event", "with"))

STEPS: dict[str, Accepts] = {
    "retain_low": is_count, "retain_tokens": is_count, "tools": lambda value: value is True,
    "redact": _list_of(lambda value: is_function(value) or _one_of(REDACTORS)(value)),
    "pin_when": _list_of(is_function),
    "clip_with": is_function, "shape": is_function, "view_with": is_function, "refresh": _one_of(REREAD),
    "weight": is_count, "ttl": is_count, "keys": _names, "was": is_text,
    "key_defaults": lambda value: type(value) is dict and bool(value) and all(map(is_key_value, value.values())),
    "allow_read": _names, "allow_write": _names, "allow_facts": _list_of(_is_fact_rule), "store": STORE,
    "summary": lambda value: SUMMARY(value) and sum(by in value for by in ("model", "function", "host")) == 1,
    "only": _one_of(ONLY), "roles": _some_of(ROLES), "pin_roles": _some_of(ROLES), "prune": is_share,
    "clip": is_count, "window": is_count, "window_low": is_count, "window_turns": is_count, "tokens": is_count,
    "recall": lambda value: value is True,
    "recall_k": is_count, "recall_tiers": _some_of(SOURCES), "recall_min_confidence": is_share, "recall_inject": _one_of(INJECT),
    "recall_half_life": is_count,
    "decay_rate": is_share, "decay_per": is_count, "decay_floor": is_share, "decay_archive_below": is_share,
    "decay_refresh_on": _one_of(REFRESH_ON),
    "embed": lambda value: EMBED(value) and (value["kind"] != "connection" or ("connection" in value and "model" in value)),
    "learn": lambda value: _list_of(RULE)(value) and _apart([rule["name"] for rule in value]),
    "on": lambda value: _list_of(HANDLER)(value) and _apart([handler["event"] for handler in value]),
    "on_failure": _one_of(ON_FAILURE), "on_conflict": _one_of(ON_CONFLICT),
    "bounds": lambda value: (
        type(value) is dict and bool(value) and all(name in BOUNDS for name in value)
        and all(held is True or is_function(held) for held in value.values())
    ),
    "made": lambda value: _names(value) and all(name in BOUNDS for name in value),
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
    if not set(value.get("key_defaults", ())) <= set(value.get("keys", ())):
        raise f.Misshapen("a value for a key part that is missing").at(".key_defaults")
    if "recall" not in value and any(name.startswith("recall_") for name in value):
        raise f.Misshapen("details of a step that is missing").at(".recall")
    computed = [*value.get("bounds", ()), *value.get("made", ())]
    if "window_low" in value and "window" not in computed and value["window_low"] >= value.get("window", 0):
        raise f.Misshapen("`window_low` is not below `window`")
    if any(name in value for name in computed):
        raise f.Misshapen("a bound that is both written and computed")
    if "made" in value and any(name in value for name in NOT_OF_A_VALUE):
        raise f.Misshapen("a step that no memory value has").at(".made")


def bound_problem(bounds: Mapping[str, Any]) -> tuple[str, Any, str] | None:
    """What is wrong with bounds that a run gave a memory, beside those that are written: which, its value, and why (M-2.15)."""
    for name in BOUNDS:
        value = bounds.get(name)
        if value is not None and not is_count(value):
            return name, value, "it is an Int of at least 1, or nil"
    for name in ("retain", "window"):
        low, bound = bounds.get(f"{name}_low"), bounds.get(name)
        if low is not None and (bound is None or low >= bound):
            return f"{name}_low", low, f"it is below `{name}`, which is {'nil' if bound is None else bound}"
    window, retain = bounds.get("window"), bounds.get("retain")
    if window is not None and retain is not None and window > retain:
        return "window", window, f"it is at most `retain`, which is {retain}"
    return None
