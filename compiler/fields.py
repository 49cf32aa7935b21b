"""Which fields configs and decorators take, and what each may hold (O-1.4 to O-1.59): the table of these constructs.

Pure data. Must not know: how values are checked (`config`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..vm.builtins.providers import APIS, PROVIDERS
from .hints.names import VALUES, nearest
from .types import ANY, FLOAT, INT, STRING, Type, array, map_

# ----------------------------------------------------------------
# The words that fields of declarations take, as Strings (O-1.4 to O-1.15, O-1.51, O-4.37, O-7.3).
#
# Hands on `FIELD_WORDS` by the name of the field.

FIELD_WORDS: dict[str, tuple[str, ...]] = {
    "provider": tuple(PROVIDERS),
    "api": ("auto", *APIS),
    "unsupported": ("error", "drop"),
    "structured": ("auto", "native", "tool", "prompt"),
    "backoff": ("none", "linear", "exponential"),
    "transport": ("stdio", "http"),
    "input_format": ("text", "json"),
    "output_format": ("text", "json"),
}


# ----------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Rule:
    """What one field holds: its type, in words, and a test of a constant value."""

    type: Type
    words: str
    legal: Callable[[object], bool] = lambda value: True
    example: Callable[[object], str] = lambda value: "…"  # what may be written in place of an illegal value


def is_carried(field: str, provider: object) -> bool:
    """Whether a connection of that provider may have the field; of an unknown provider that is not known."""
    row = PROVIDERS.get(provider) if isinstance(provider, str) else None
    return row is None or row.carries(field)


def number(low: float, high: float = math.inf, *, above: bool = False) -> Rule:
    """A number between two bounds, the lower one excluded if `above`."""
    limits = f"of at least {low:g}" if high == math.inf else f"of {low:g} to {high:g}"
    words = f"a number above {low:g}" if above else f"a number {limits}"

    def legal(value: object) -> bool:
        return isinstance(value, (int, float)) and (value > low if above else value >= low) and value <= high

    def example(value: object) -> str:
        if above:
            return f"{low + USUAL:g}"
        return f"{high:g}" if isinstance(value, (int, float)) and value > high else f"{low:g}"

    return Rule(FLOAT, words, legal, example)


USUAL = 30  # seconds


def whole(low: int) -> Rule:
    words = f"an Int of at least {low}"
    return Rule(INT, words, lambda value: isinstance(value, int) and value >= low, lambda value: str(low))


def one_of(*members: str) -> Rule:
    words = "one of " + ", ".join(f'"{m}"' for m in members)
    return Rule(STRING, words, lambda value: value in members, lambda value: f'"{_like(value, members)}"')


def _like(value: object, members: Sequence[str]) -> str:
    """The member that was meant: what stands for the word elsewhere, else the nearest."""
    if not isinstance(value, str):
        return members[0]
    elsewhere = next((word for word in VALUES.get(value, ()) if word in members), None)
    return elsewhere or nearest(value, members) or members[0]


def _is_address(value: object) -> bool:
    return isinstance(value, str) and bool(_ADDRESS.match(value))


def _address(value: object) -> str:
    return f'"https://{str(value).removeprefix("//")}"'


_ADDRESS = re.compile(r"https?://[^/]", re.IGNORECASE)
# O-1.9: what requests are sent to; without its beginning nobody could say how.
ADDRESS = Rule(STRING, "an address that begins with `https://` or `http://`", _is_address, _address)


TEXT = Rule(STRING, "a String")
DURATION = number(0, above=True)
# One limit of time, or several by name (O-1.212).
LIMITS = Rule(FLOAT, "a number above 0, or an object of `connect`, `first`, `idle`, `total`", DURATION.legal, DURATION.example)
TEXTS = Rule(array(STRING), "an Array<String>")


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


RETRY_ON = ("rate_limit", "server", "connection", "timeout")
RETRY_CLASSES = Rule(
    array(STRING), "a subset of " + ", ".join(f'"{r}"' for r in RETRY_ON),
    lambda value: isinstance(value, list) and set(value) <= set(RETRY_ON),
    lambda value: "[" + ", ".join(f'"{_like(v, RETRY_ON)}"' for v in _items(value)) + "]",
)  # fmt: skip
STRUCTURED = one_of(*FIELD_WORDS["structured"])

RETRY: dict[str, Rule] = {
    "max_attempts": whole(1),
    "backoff": one_of(*FIELD_WORDS["backoff"]),
    "initial_delay_ms": whole(0),
    "max_delay_ms": whole(0),
    "retry_on": RETRY_CLASSES,
}
TIMEOUT: dict[str, Rule] = dict.fromkeys(("connect", "first", "idle", "total"), DURATION)
RATE_LIMIT: dict[str, Rule] = dict.fromkeys(
    ("requests_per_minute", "tokens_per_minute", "concurrent_requests"), whole(1)
)

# Fields of a connection that are plain constants (O-1.4 to O-1.15).
CONNECTION: dict[str, Rule] = {
    "provider": one_of(*FIELD_WORDS["provider"]),
    "api_key_env": TEXT,
    "base_url": ADDRESS,
    "default_model": TEXT,
    "models": Rule(map_(STRING, STRING), "a Map<String, String>"),
    "timeout": LIMITS,
    "organization": TEXT,
    "project": TEXT,
    "api": one_of(*FIELD_WORDS["api"]),
    "unsupported": one_of(*FIELD_WORDS["unsupported"]),
    "structured": STRUCTURED,
    "replies": Rule(array(ANY), "an Array"),
}
CONNECTION_OBJECTS = {"retry": RETRY, "rate_limit": RATE_LIMIT}
# Fields that hold either one value or an object of several (O-1.212).
EITHER_OBJECTS = {"timeout": TIMEOUT}
CONNECTION_FIELDS = (*CONNECTION, *CONNECTION_OBJECTS, "api_key", "headers")

# Fields of a model that are values (O-1.36 to O-1.46).
MODEL: dict[str, Rule] = {
    "base": TEXT,
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "max_tokens": whole(1),
    "stop_sequences": TEXTS,
    "system_prompt": TEXT,
    "max_tool_rounds": whole(0),
    "structured": STRUCTURED,
    "timeout": LIMITS,
}
MODEL_FIELDS = ("provider", *MODEL, "memory", "knowledge", "tools", "retry_policy")

# Fields of an agent (O-7.2, O-7.3); its connector is a name.
AGENT: dict[str, Rule] = {
    "input_format": one_of(*FIELD_WORDS["input_format"]),
    "output_format": one_of(*FIELD_WORDS["output_format"]),
    "timeout": DURATION,
}
AGENT_FIELDS = ("connector", *AGENT)

# Fields of an MCP server that are plain constants (O-4.37 to O-4.41), and those that only one transport takes.
MCP: dict[str, Rule] = {
    "transport": one_of(*FIELD_WORDS["transport"]),
    "command": TEXT,
    "args": TEXTS,
    "url": ADDRESS,
    "timeout": DURATION,
    "env": Rule(map_(STRING, STRING), "a Map<String, String>"),
}
MCP_FIELDS = (*MCP, "headers")
MCP_CARRIED = {"stdio": ("command", "args", "env"), "http": ("url", "headers")}

# Decorators: the places each may stand in (L-1.8.2 to L-1.8.6).
DECORATOR_PLACES: dict[str, tuple[str, ...]] = {
    "test": ("fn",),
    "expect_fail": ("fn",),
    "describe": ("tool method", "mcp method", "schema field"),
    "param": ("tool method", "mcp method", "parameter"),
    "retry": ("model", "agent", "stage"),
    "timeout": ("model", "agent", "stage"),
    "log": ("model", "agent", "stage"),
    "cache": ("model",),
    "validate": ("schema",),
    "partial": ("schema",),
    "coerce": ("schema",),
    "effect": ("tool method", "model"),
    "was": ("slot", "struct field", "schema field"),
}

# Arguments of those this compiler checks.
DECORATOR_ARGUMENTS: dict[str, dict[str, Rule]] = {
    "retry": {
        "max": RETRY["max_attempts"],
        "backoff": RETRY["backoff"],
        "delay_ms": RETRY["initial_delay_ms"],
        "max_delay_ms": RETRY["max_delay_ms"],
        "retry_on": RETRY_CLASSES,
    },
    "timeout": {"seconds": DURATION},
    "log": {"channel": TEXT},
    "cache": {"ttl_seconds": whole(1)},
    "describe": {"text": TEXT},
    "partial": {},
    "coerce": {},
    "test": {"description": TEXT, "cases": Rule(array(ANY), "an array of cases")},
    "expect_fail": {"part": TEXT},
    "effect": {"class": one_of("pure", "idempotent", "once")},
    "was": {"name": TEXT},
}
# Places where a decorator takes less than elsewhere: any Err repeats a stage (O-6.21), a model is repeatable or once (O-9.37).
PLACE_ARGUMENTS: dict[str, dict[str, dict[str, Rule]]] = {
    "stage": {"retry": {k: v for k, v in DECORATOR_ARGUMENTS["retry"].items() if k != "retry_on"}},
    "model": {"effect": {"class": one_of("once")}},
}
DECORATOR_REQUIRED = {"timeout": "seconds", "describe": "text", "effect": "class", "was": "name"}
