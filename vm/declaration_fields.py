"""The fields of declarations and the arguments of decorators: one row each, with kind, range, words and default (O-0.4, O-1.4 to
O-1.59, O-1.213, O-1.230, O-1.231, O-1.283 to O-1.286, O-4.37 to O-4.41, O-7.2 to O-7.8, O-7.38, L-1.8).

The checker adds types and helps to these rows; manifest, image and host are checked against them as they are. A new field of a
declaration is one row here; what it does is the matter of whoever reads the declaration.

Hands on the rows (`CONNECTION`, `MODEL`, `EMBEDDER`, `AGENT`, `PROCESS`, `MCP`, `RETRY`, `TIMEOUT`, `BREAKER`, `HOSTED`,
`DECORATORS`), `CALL_SETTINGS`, PRICES, OTHER_PRICES, RETRY_CLASSES, RETRY_ARGUMENTS, DEFAULT_SECONDS, KEPT_LONG, WITH_UNIT and
the kinds of fields to compiler, runtime and `vm/`, PRICES and OTHER_PRICES to the options of the API too; KEY_SOURCE to
`compiler/manifest.py` and the API; `Field` to who reads rows, such as `compiler/checker/config.py` and `runtime/connections.py`;
`is_text` to `runtime/connections.py`, `anything` to `runtime/providers/offline.py`; `milliseconds`, which reads a duration; what
knows the other names of a field (`named`, `as_held`, `stated`, `twice`); `hosted_fault`; and the functions that make a `Field` to
whoever has rows of its own (`compiler/fields.py`, `compiler/manifest.py`, `runtime/providers/offline.py`,
`runtime/agents/messages.py`). Nothing is reported here: `takes` says whether a value is right, `hosted_fault` what is wrong, and
the caller makes the message. Fields of memories are steps and stand in `vm/memory_steps.py`.
"""

from __future__ import annotations

from .providers import APIS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Takes = Callable[[Any], bool]
    Fields = Mapping[str, "Field"]

# ----------------------------------------------------------------
# Kinds of fields.

TEXT, ADDRESS, WORD, NUMBER, WHOLE = "text", "address", "word", "number", "whole"
TEXTS, WORDS, LIST = "texts", "words", "list"
MAP, VARIABLES, HEADERS, DATA, OBJECT = "map", "variables", "headers", "data", "object"
LIMITS = "limits"  # one duration, or an object of several
SWITCH = "switch"  # true, false or one of some words
TOOLS = "tools"  # that a provider runs itself
NAMES = "names"  # of other declarations: an image holds them in places of their own
MODELS = "models"  # names of models, bare in a source: an image holds them as texts

MOST = 2**31  # of an Int that sets no other bound
INT_MOST = (1 << 63) - 1  # no image holds more
LONGEST_SECONDS = 10_000_000


# ----------------------------------------------------------------
# Durations as they are written (M-2.7, O-0.12).

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
WITH_UNIT = 'a text with its unit, such as "500ms" or "30s"'  # of a time under a name that tells no unit


def milliseconds(value: object) -> int | None:
    """Return the milliseconds of a duration, rounded: of a text with its unit, such as `30d`, or of a number of seconds (M-2.7).
    Return None for anything else, for half a millisecond or less, and for 2^53 milliseconds or more."""
    ms = _milliseconds(value)
    return round(ms) if ms is not None and 0.5 < ms < (1 << 53) - 0.5 else None


def _milliseconds(value: object) -> float | None:
    if not isinstance(value, str):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value * 1000 if is_number else None  # type: ignore[operator]
    unit = next((unit for unit in UNITS if value.endswith(unit)), "")
    number = value[: len(value) - len(unit)]
    whole, point, part = number.partition(".")
    is_number = bool(unit) and number.isascii() and whole.isdecimal() and (part.isdecimal() if point else True)
    return float(number) * UNITS[unit] if is_number else None


class Field:
    """One field or argument, of a `kind` above. `takes` returns whether a value, as plain data, is right, a bool; `says` names
    what it takes, to stand behind `is` in messages. A number is at least `low` (above it, if `above`) and at most `high`, None
    for no bound; `words`: those that a text, or each of several, may be; `parts`: the fields of an object. `default` counts where
    no place sets the field.

    `also` are other names of the field. `unit` is "s" or "ms" of a field that is a time, else "". A time in seconds may be
    written as a text with its unit, such as "30s"; a time whose own name tells the unit may be written so under the names in
    `plain`. `as_held` turns such a text into a number, before `takes` is asked."""

    __slots__ = ("kind", "says", "takes", "low", "high", "above", "words", "parts", "default", "unit", "also", "plain")

    def __init__(
        self,
        kind: str,
        says: str,
        takes: Takes,
        *,
        default: Any = None,
        low: int = 0,
        high: float | None = None,
        above: bool = False,
        words: tuple[str, ...] = (),
        parts: Fields | None = None,
        unit: str = "",
        also: tuple[str, ...] = (),
        plain: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.says = says
        self.unit = unit
        self.also = also
        self.plain = plain
        self.takes = takes
        self.default = default
        self.low = low
        self.high = high
        self.above = above
        self.words = words
        self.parts = parts


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return type(value) is str


def is_address(value: Any) -> bool:
    """Return whether a value is a complete HTTP or HTTPS address with a host (O-1.7)."""
    scheme, separator, rest = value.partition("://") if type(value) is str else ("", "", "")
    authority = rest.replace("?", "/").replace("#", "/").partition("/")[0]
    host = authority.rpartition("@")[2]
    if host.startswith("["):  # IPv6
        name, bracket, behind = host[1:].partition("]")
        sound = bool(bracket) and ":" in name and all(sign in "0123456789abcdefABCDEF:." for sign in name)
        colon, port = behind[:1], behind[1:]
        sound = sound and colon in ("", ":")
    else:
        name, colon, port = host.partition(":")
        sound = name != "" and not any(sign.isspace() or sign in "[]" for sign in name)
    sound = sound and (port == "" or (port.isascii() and port.isdigit() and int(port[:6]) < 65536))
    return sound and bool(separator) and scheme.lower() in ("http", "https")


def text(default: str | None = None) -> Field:
    """Return the field of any String. `default`, here and below, is that of the Field."""
    return Field(TEXT, "a String", is_text, default=default)


def address() -> Field:
    """Return the field of a complete HTTP or HTTPS address (`is_address`)."""
    return Field(ADDRESS, "an address that begins with `https://` or `http://` and a host", is_address)


def label(what: str) -> Field:
    """Return the field of a name that becomes part of an address: letters, digits, hyphens and points, the first a letter or
    digit. `what` says of what it is the name, with an example."""

    def takes(value: Any) -> bool:
        return is_text(value) and value.isascii() and value[:1].isalnum() and value.replace("-", "a").replace(".", "a").isalnum()

    return Field(TEXT, f"the name of {what}", takes)


def one_of(*words: str, default: str | None = None) -> Field:
    """Return the field of one of these words."""
    listed = ", ".join(f'"{word}"' for word in words)
    says = listed if len(words) == 1 else f"one of {listed}"
    return Field(WORD, says, lambda value: type(value) is str and value in words, words=words, default=default)


# The long lifetime of `cache_prompt` (O-1.220).
KEPT_LONG = "1h"


def switch(*words: str) -> Field:
    """Return the field of true, false or one of these words."""
    says = "true, false or " + " or ".join(f'"{word}"' for word in words)
    return Field(SWITCH, says, lambda value: type(value) is bool or (is_text(value) and value in words), words=words)


def some_of(*words: str, default: tuple[str, ...]) -> Field:
    """Return the field of a list of some of these words, or of none of them."""
    says = "a subset of " + ", ".join(f'"{word}"' for word in words)
    takes = one_of(*words).takes
    return Field(WORDS, says, lambda value: type(value) is list and all(map(takes, value)), words=words, default=default)


def whole(low: int, high: int | None = MOST, *, default: int | None = None, **more: Any) -> Field:
    """Return the field of an Int from `low` to `high`, both included; for None any Int from `low` on that an image can hold.
    `more` are further arguments of Field."""
    says = f"an Int of at least {low}" if high is None else f"an Int of {low} to {high}"
    most = INT_MOST if high is None else high

    def takes(value: Any) -> bool:
        return type(value) is int and low <= value <= most

    return Field(WHOLE, says, takes, low=low, high=high, default=default, **more)


def number(low: int, high: float | None = None, *, above: bool = False, default: float | None = None) -> Field:
    """Return the field of an Int or Float from `low`, which is left out if `above`, to `high`, which is included; without
    `high` it is any finite Float, or Int that an image can hold, from `low` on."""
    if above:
        says = f"a number above {low}" if high is None else f"a number above {low}, at most {high}"
    else:
        says = f"a number of at least {low}" if high is None else f"a number of {low} to {high}"

    def takes(value: Any) -> bool:
        most = float("inf") if high is None else high
        is_number = type(value) is float or (type(value) is int and value <= INT_MOST)
        begins = is_number and (value > low if above else value >= low)
        return begins and (value <= most if high is not None else value < most)

    return Field(NUMBER, says, takes, low=low, high=high, above=above, default=default)


def duration(default: float | None = None) -> Field:
    """Return the field of a duration in seconds, above 0 (O-0.4); `as_held` makes the number of a text such as "30s"."""
    field = number(0, LONGEST_SECONDS, above=True, default=default)
    field.unit, field.says = "s", f'{field.says}, or a text such as "30s"'
    return field


def object_of(parts: Fields, *required: str, also: tuple[str, ...] = ()) -> Field:
    """Return the field of an object that has no other parts than these, of which those in `required` may not be missing. `also`:
    other names of the field."""
    says = "an object of " + ", ".join(f"`{name}`" for name in parts)
    takes = lambda value: _fits(parts, value) and all(name in value for name in required)  # noqa: E731
    return Field(OBJECT, says, takes, parts=parts, also=also)


def limits(parts: Fields) -> Field:
    """Return the field of one duration in seconds, or of an object of several with these names."""
    one, several = duration(), object_of(parts)
    says = f"{one.says}, or {several.says}"
    return Field(
        LIMITS, says, lambda value: one.takes(value) or several.takes(value), low=one.low, high=one.high, above=one.above,
        parts=parts, unit=one.unit,
    )  # fmt: skip


def named(fields: Fields, name: str) -> tuple[str, bool] | None:
    """Return the own name of the field that a name stands for, and whether the field is written as a duration under that name;
    None for a name that no field has."""
    if name in fields:
        return name, False
    for own, field in fields.items():
        if name in field.also or name in field.plain:
            return own, name in field.plain
    return None


def as_held(field: Field, value: Any, as_duration: bool = False) -> Any:
    """Return a value of a field as images and runs hold it: of a text that is a duration the number in the unit of the field; of
    an object the same of its parts, by their own names; any other value as it is. `as_duration`: it is written under a name of
    `field.plain`, where a number without a unit does not fit. What does not fit comes back as something that `takes` refuses."""
    if type(value) is dict and field.parts is not None:
        return stated(field.parts, value)
    if type(value) is not str or not (as_duration or field.unit == "s"):
        return (value,) if as_duration else value
    ms = milliseconds(value)
    if ms is None and _milliseconds(value) == 0 and not (field.low or field.above):
        ms = 0
    if ms is None or (field.kind == WHOLE and field.unit == "s" and ms % 1000):
        return value
    if field.unit == "ms":
        return ms
    return ms // 1000 if field.kind == WHOLE else ms / 1000


def stated(fields: Fields, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new dict of values under the own names of their fields, as images and runs hold them (`as_held`). A name that no
    field has keeps its value, and so does a second name of a field that has a value already."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        own, as_duration = named(fields, name) or (name, False)
        if own != name and (own in result or own in values):
            own, as_duration = name, False
        result[own] = as_held(fields[own], value, as_duration) if own in fields else value
    return result


def twice(fields: Fields, values: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return two of the names in `values` that stand for one field, in their order there; None where there are no such two."""
    seen: dict[str, str] = {}
    for name in values:
        match = named(fields, name)
        if match is not None and seen.setdefault(match[0], name) != name:
            return seen[match[0]], name
    return None


def _fits(parts: Fields, value: Any) -> bool:
    return type(value) is dict and all(name in parts and parts[name].takes(part) for name, part in value.items())


def array_of(item: Takes, says: str, kind: str = LIST) -> Field:
    """Return the field of an array whose elements `item` accepts. `says` and `kind` are those of the Field."""
    return Field(kind, says, lambda value: type(value) is list and all(map(item, value)))


def texts() -> Field:
    """Return the field of an array of Strings."""
    return array_of(is_text, "an array of strings", TEXTS)


def map_of(item: Takes, says: str, kind: str = MAP) -> Field:
    """Return the field of a table from texts to values that `item` accepts. Its default is an empty one. `says` and `kind` are
    those of the Field."""

    def takes(value: Any) -> bool:
        return type(value) is dict and all(map(is_text, value)) and all(map(item, value.values()))

    return Field(kind, says, takes, default={})


def variables() -> Field:
    """Return the field of the environment of a child process: names of variables of the host, or texts (O-4.41)."""
    return map_of(
        lambda value: is_text(value) or _is_one(value, "value"), 'a table of names of variables, or of `{ value = "text" }`',
        VARIABLES,
    )  # fmt: skip


def headers() -> Field:
    """Return the field of HTTP headers: texts, or names of variables of the host."""
    return map_of(lambda value: is_text(value) or _is_one(value, "env"), 'a table of strings or `{ env = "NAME" }`', HEADERS)


def _is_one(value: Any, key: str) -> bool:
    return type(value) is dict and list(value) == [key] and is_text(value[key])


def anything(value: Any) -> bool:
    """Return True for every value."""
    return True


def is_json(value: Any) -> bool:
    """Return whether a value has a JSON form. Dates, infinities, NaN, integers of more than 64 bits, for which an image has no
    room, and maps with keys that are no texts have none."""
    if isinstance(value, dict):
        return all(map(is_text, value)) and all(map(is_json, value.values()))
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, int):
        return -INT_MOST - 1 <= value <= INT_MOST
    return value is None or isinstance(value, str) or (isinstance(value, float) and value - value == 0)


def command() -> Field:
    """Return the field of a command, a text that is not empty: all its words, or the first of them."""
    return Field(TEXT, "a string of words", lambda value: is_text(value) and value != "")


def json_object() -> Field:
    """Return the field of an object of anything that JSON can hold. Its default is an empty one."""
    return Field(DATA, "an object that JSON can hold", lambda value: type(value) is dict and is_json(value), default={})


def names() -> Field:
    """Return the field of the name of another declaration."""
    return Field(NAMES, "the name of a declaration", is_text)


def domains() -> Field:
    """Return the field of a list of names of hosts, perhaps with a path, as providers take them: without `https://`, and at
    least one."""
    is_domain = lambda value: is_text(value) and value != "" and "://" not in value  # noqa: E731
    field = array_of(is_domain, "an array of domains without `https://`", TEXTS)
    takes = field.takes
    field.takes = lambda value: takes(value) and value != []
    return field


# Tools that a provider runs itself: by type the parts that they may have (O-1.213). Which of them a connection carries, the table
# of providers says. The versions are Anthropic's.
HOSTED: dict[str, Fields] = {
    "web_search": {
        "max_uses": whole(1),
        "allowed_domains": domains(),
        "blocked_domains": domains(),
        "user_location": object_of({part: text() for part in ("city", "region", "country", "timezone")}),
        "context_size": one_of("low", "medium", "high"),
        "version": one_of("20250305", "20260209", "20260318", default="20250305"),
    },
    "code_execution": {
        "max_uses": whole(1),
        "memory": one_of("1g", "4g", "16g", "64g"),
        "version": one_of("20250825", "20260120", "20260521", default="20250825"),
    },
}
# The keys of a row of prices: dollars for a million tokens, then those that may be left out, of hosted tools for a thousand calls
# (O-1.131, O-1.221, O-1.227).
PRICES = ("input_per_million", "output_per_million")
OTHER_PRICES = ("cached", "cache_write", *HOSTED)
# What of a tool goes with what of it: one of the two at most.
EITHER_OR = ("allowed_domains", "blocked_domains")


def hosted_fault(value: Any) -> tuple[int, str | None, str] | None:
    """Return what is wrong with the tools in plain data for the field `hosted`: (index of the tool from 0, name of its part or
    None for the whole, words that say what is wanted). None when nothing is wrong."""
    if type(value) is not list:
        return 0, None, f"`hosted` is {hosted().says}"
    seen: list[object] = []
    for at, tool in enumerate(value):
        kind = tool.get("type") if type(tool) is dict else None
        if not is_text(kind) or kind not in HOSTED:
            part = "type" if type(tool) is dict and "type" in tool else None
            return at, part, "a hosted tool has a `type`: " + " or ".join(f'"{name}"' for name in HOSTED)
        if kind in seen:
            return at, "type", f'`hosted` names "{kind}" twice'
        seen.append(kind)
        fault = _tool_fault(kind, tool)
        if fault is not None:
            return at, *fault
    return None


def _tool_fault(kind: str, tool: dict[Any, Any]) -> tuple[str | None, str] | None:
    parts = HOSTED[kind]
    for name, part in tool.items():
        if not is_text(name):
            return None, f"a field of a hosted tool has a name, found {name!r}"
        if name != "type" and name not in parts:
            return name, f'"{kind}" has no field `{name}`; its fields are {", ".join(f"`{each}`" for each in parts)}'
        if name != "type" and part is not None and not parts[name].takes(part):
            return name, f"`{name}` is {parts[name].says}"
    if all(tool.get(name) is not None for name in EITHER_OR):
        return EITHER_OR[1], " and ".join(f"`{name}`" for name in EITHER_OR) + " exclude each other"
    return None


def hosted() -> Field:
    """Return the field of tools that the provider runs itself."""
    return Field(TOOLS, 'an array of tools such as `{ type: "web_search" }`', lambda value: hosted_fault(value) is None)


# ----------------------------------------------------------------
# Rows of declarations. The order is the one in which fields are listed to the reader.

RETRY_CLASSES = ("rate_limit", "server", "connection", "timeout")  # O-1.52

# `retry` of a connection, `retry_policy` of a model (O-1.48 to O-1.52).
RETRY: dict[str, Field] = {
    "max_attempts": whole(1, 1000, default=3, also=("max",)),
    "backoff": one_of("none", "linear", "exponential", default="exponential"),
    "initial_delay_ms": whole(0, default=500, unit="ms", also=("delay_ms",), plain=("initial_delay", "delay")),
    "max_delay_ms": whole(0, default=8000, unit="ms", plain=("max_delay",)),
    "retry_on": some_of(*RETRY_CLASSES, default=RETRY_CLASSES),
}
# `timeout` as an object (O-1.212).
TIMEOUT: dict[str, Field] = {
    "connect": duration(5.0), "first": duration(60.0), "idle": duration(30.0), "total": duration(600.0),
}  # fmt: skip
RATE_LIMIT: dict[str, Field] = {
    name: whole(1) for name in ("requests_per_minute", "tokens_per_minute", "concurrent_requests")
}
EFFORTS = ("none", "low", "medium", "high")  # O-1.210
STRATEGIES = ("auto", "native", "tool", "prompt")

# `breaker` of a connection, `@breaker` before one (O-1.231).
BREAKER: dict[str, Field] = {"failures": whole(1, 1000, default=5), "seconds": duration(30.0)}

# O-1.4 to O-1.15, O-1.34, O-1.134, O-1.211, O-1.214, O-1.215, O-1.220, O-1.231, O-1.283 to O-1.286. The table of providers
# says which words `provider` takes. A literal `api_key` only the host may give (O-9.44).
CONNECTION: dict[str, Field] = {
    "provider": text(),
    "api_key_env": text(),
    "base_url": address(),
    "default_model": text(),
    "models": map_of(is_text, "a Map<String, String>"),
    "timeout": limits(TIMEOUT),
    "organization": text(),
    "project": text(),
    "region": label('a region, such as "us-east-1"'),
    "api_version": label('a version of the API, such as "2024-10-21"'),
    "profile": text(),  # of AWS (O-1.285)
    "auth": one_of("key", "token"),  # what the key is (O-1.286)
    "api": one_of("auto", *APIS, default="auto"),
    "unsupported": one_of("error", "drop", default="error"),
    "structured": one_of(*STRATEGIES, default="auto"),
    "media_bytes": whole(1, default=50 * 1024 * 1024),  # of one request (O-1.214)
    "media_tokens": whole(1, default=1000),  # of one Media whose tokens nobody knows (O-1.215)
    "cache_prompt": switch(KEPT_LONG),  # O-1.220
    "replies": array_of(is_json, "an Array"),  # of replies, which are checked when they become a script
    "retry": object_of(RETRY, also=("retry_policy",)),
    "rate_limit": object_of(RATE_LIMIT),
    "breaker": object_of(BREAKER),
    "api_key": text(),
    "headers": headers(),
    "extra": json_object(),
}

# What `fallback_on` may name: the classes of retries, and failures that no retry mends (O-1.230).
FALLBACK_CLASSES = (*RETRY_CLASSES, "not_found", "schema", "refusal")

# O-1.35 to O-1.46, O-1.230. A `timeout` that nobody sets is 60 seconds, one that only the connection sets is that one.
DEFAULT_SECONDS = 60
MODEL: dict[str, Field] = {
    "provider": names(),
    "base": text(),
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "max_tokens": whole(1),
    "stop_sequences": texts(),
    "reasoning": one_of(*EFFORTS),
    "reasoning_tokens": whole(1024),
    "extra": json_object(),
    "cache_prompt": switch(KEPT_LONG),
    "system_prompt": text(),
    "max_tool_rounds": whole(0, default=10),
    "structured": one_of(*STRATEGIES),
    "timeout": limits(TIMEOUT),
    "memory": names(),
    "knowledge": names(),
    "tools": names(),
    "hosted": hosted(),  # O-1.213
    "retry_policy": object_of(RETRY, also=("retry",)),
    "fallback": array_of(is_text, "an array of names of models", MODELS),
    "fallback_on": some_of(*FALLBACK_CLASSES, default=(*RETRY_CLASSES, "not_found")),
}

# O-1.240.
EMBEDDER: dict[str, Field] = {"provider": names(), "base": text(), "dimensions": whole(1, 65_536)}

# What one call may set of its model (O-3.30). Where the model is reached, and what belongs to it, only the declaration says.
CALL_SETTINGS = (
    "base", "temperature", "top_p", "max_tokens", "stop_sequences", "system_prompt", "max_tool_rounds", "structured", "timeout",
    "reasoning", "reasoning_tokens", "hosted",
)  # fmt: skip

# O-7.1 to O-7.3, and of `[agents.X]` and the host O-7.4 to O-7.8, O-7.38.
AGENT: dict[str, Field] = {
    "connector": text(),
    "input_format": one_of("text", "json", default="text"),
    "output_format": one_of("text", "json", default="text"),
    "timeout": duration(120.0),
}
PROCESS: dict[str, Field] = {
    "transport": one_of("stdio"),
    "protocol": one_of("lines", "acp", default="lines"),
    "command": command(),
    "args": texts(),
    "timeout": duration(),
    "working_dir": text("."),
    "env": variables(),
    "params": Field(DATA, "a table that JSON can hold", lambda value: type(value) is dict and is_json(value)),
}

# O-4.37 to O-4.41.
MCP: dict[str, Field] = {
    "transport": one_of("stdio", "http"),
    "command": command(),
    "args": texts(),
    "url": address(),
    "timeout": duration(30.0),
    "env": variables(),
    "headers": headers(),
}


# ----------------------------------------------------------------
# Rows of decorators (L-1.8.2 to L-1.8.7, O-1.56 to O-1.59, O-1.231).


class Decorator:
    """One decorator. `places`: the kinds of declarations that it may stand at. `arguments`: in the order of their positions;
    `at`: others by place, where they differ. `required`: the argument that may not be missing, None if all may."""

    __slots__ = ("places", "arguments", "required", "_at")

    def __init__(
        self, *places: str, arguments: Fields | None = None, required: str | None = None, at: Mapping[str, Fields] | None = None
    ) -> None:
        self.places = places
        self.arguments: Fields = arguments or {}
        self.required = required
        self._at = at or {}

    def arguments_at(self, place: str) -> Fields:
        """Return the arguments that it takes at a place, which may be any text: `arguments` where `at` has no others."""
        return self._at.get(place, self.arguments)


def _also(field: Field, name: str, argument: str) -> Field:
    """Return the field as an argument of another name; its own is one of its other names then."""
    others = tuple(other for other in (name, *field.also) if other != argument)
    return Field(
        field.kind, field.says, field.takes, low=field.low, high=field.high, words=field.words, default=field.default,
        unit=field.unit, also=others, plain=field.plain,
    )  # fmt: skip


# Argument of `@retry`: the key of a policy that it is.
RETRY_ARGUMENTS = {
    "max": "max_attempts",
    "backoff": "backoff",
    "delay_ms": "initial_delay_ms",
    "max_delay_ms": "max_delay_ms",
    "retry_on": "retry_on",
}
_POLICY = {argument: _also(RETRY[name], name, argument) for argument, name in RETRY_ARGUMENTS.items()}
_OF_ANY_ERROR = {name: field for name, field in _POLICY.items() if name != "retry_on"}
_CALLED = ("model", "agent", "stage")

DECORATORS: dict[str, Decorator] = {
    "test": Decorator("fn", arguments={"description": text(), "cases": array_of(anything, "an array of cases")}),
    "expect_fail": Decorator("fn", arguments={"part": text()}),
    "describe": Decorator("tool method", "mcp method", "schema field", arguments={"text": text()}, required="text"),
    "param": Decorator("tool method", "mcp method", "parameter of one of these", "parameter of a fn by a model", "extern fn"),
    # any Err repeats a stage (O-6.21)
    "retry": Decorator(
        *_CALLED, "extern fn", arguments=_POLICY, at=dict.fromkeys(("stage", "extern fn"), _OF_ANY_ERROR)
    ),
    "timeout": Decorator(*_CALLED, "channel", "extern fn", arguments={"seconds": duration()}, required="seconds"),
    "log": Decorator(
        *_CALLED, arguments={"channel": text("model:log")},
        at={"agent": {"channel": text("agent:log")}, "stage": {"channel": text("pipeline:log")}},
    ),
    "approve": Decorator(
        "tool method", arguments={"channel": Field(TEXT, "the name of a channel", anything)}, required="channel"
    ),
    "breaker": Decorator("connect", arguments=BREAKER),
    "cache": Decorator("model", arguments={"ttl_seconds": whole(1, default=300, unit="s", plain=("ttl",))}),
    "validate": Decorator("schema"),
    "partial": Decorator("schema"),
    "coerce": Decorator("schema"),
    # a model is repeatable or once (O-9.37)
    "effect": Decorator(
        "tool method", "model", "extern fn", arguments={"class": one_of("pure", "idempotent", "once")}, required="class",
        at={"model": {"class": one_of("once")}},
    ),
    "was": Decorator("slot", "struct field", "schema field", arguments={"name": text()}, required="name"),
}  # fmt: skip


# Where a server takes the value of a parameter from, in `[serve.keys]` and in the Python API (S-1.3): a regular expression.
KEY_SOURCE = r"header:[A-Za-z0-9!#$%&'*+.^_`|~-]+|claim:[A-Za-z0-9_.-]+|caller|session"
