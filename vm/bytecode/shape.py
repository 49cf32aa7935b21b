"""The shape of each section, field by field (V008): after this, no later phase can meet a value of another Python type.

Hands on `check_sections` (decoded plain data) and `build` and `lower` (between that data and records). Must not
know: bytes; which numbers are in range (the verifier's question).
"""

from __future__ import annotations

from . import fields as f
from . import image as i
from .image import Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any


# ----------------------------------------------------------------
# Type descriptors: the rows of the types section (O-10.6).
#
# A descriptor is a list of a head and its arguments; inner types are indexes into the same section. Hands on
# `check_descriptor` (shape), `inner_types`, `inner_functions` and `default_functions` (the indexes a descriptor names).

# Arguments of a head: T a type index, L a list of type indexes, N a name, O a name that may be missing, W a list of
# texts, F fields [name, type, public] and, where there is one, the function of the default, V variants [name, payload types,
# names of the parts of a struct variant…], I impls of a trait [type, [function…]].
HEADS: dict[str, str] = {
    "int": "", "float": "", "string": "", "bool": "", "nil": "", "any": "", "never": "", "range": "", "prompt": "", "bytes": "",
    "array": "T", "map": "TT", "option": "T", "result": "TT", "nilable": "T", "set": "T", "queue": "T",
    "stack": "T", "tuple": "L", "fn": "LT", "union": "W",
    "trait": "NI", "errors": "L", "struct": "NF", "schema": "NF", "enum": "NV", "record": "N", "error": "NO", "handle": "N",
}  # fmt: skip


def _default_or_was(value: Any, limits: Limits) -> None:
    (f.natural if type(value) is int else f.name)(value, limits)


DECLARED = ("struct", "schema", "enum", "trait")  # a cycle of types must pass through one of these

_CHECKERS: dict[str, f.Checker] = {
    "T": f.natural,
    "L": f.listed(f.natural),
    "N": f.name,
    "W": f.listed(f.text),
    "F": f.listed(f.row(f.name, f.natural, f.boolean, rest=_default_or_was)),
    "V": f.listed(f.row(f.name, f.listed(f.natural), rest=f.name)),
    "I": f.listed(f.row(f.natural, f.listed(f.natural))),
}


def _row(form: str) -> f.Checker:
    checkers = [_CHECKERS[letter] for letter in form if letter != "O"]
    return f.row(f.name, *checkers, rest=f.name if "O" in form else None)


_ROWS = {head: _row(form) for head, form in HEADS.items()}


def check_descriptor(value: Any, limits: Limits) -> None:
    if type(value) is not list or not value or type(value[0]) is not str or value[0] not in HEADS:
        raise f.Misshapen("a type descriptor expected")
    if len(value) > 1 + len(HEADS[value[0]]):
        raise f.Misshapen(f"a type {value[0]} has at most {len(HEADS[value[0]])} arguments")
    _ROWS[value[0]](value, limits)
    if any([type(part) for part in row[3:]] not in ([], [int], [str], [int, str]) for row in field_rows(value)):
        raise f.Misshapen("a field has a name, a type, its visibility, at most one default and then at most one name before")


def inner_types(descriptor: list[Any]) -> Iterator[int]:
    """The type indexes in a well-shaped descriptor."""
    for letter, argument in zip(HEADS[descriptor[0]], descriptor[1:], strict=False):
        if letter == "T":
            yield argument
        elif letter == "L":
            yield from argument
        elif letter == "F":
            yield from (entry[1] for entry in argument)
        elif letter == "V":
            for variant in argument:
                yield from variant[1]
        elif letter == "I":
            yield from (entry[0] for entry in argument)


def inner_functions(descriptor: list[Any]) -> Iterator[int]:
    """The functions a descriptor names: those of the impls of a trait."""
    if descriptor[0] == "trait":
        for _, methods in descriptor[2]:
            yield from methods


def field_rows(descriptor: list[Any]) -> list[list[Any]]:
    """The fields of a struct or schema, none for other types."""
    fields: list[list[Any]] = descriptor[2] if descriptor[0] in ("struct", "schema") else []
    return fields


def default_functions(descriptor: list[Any]) -> Iterator[int]:
    """The functions that give the defaults of fields (L-5.10.1)."""
    return (row[3] for row in field_rows(descriptor) if len(row) > 3 and type(row[3]) is int)


def field_count(descriptor: list[Any]) -> int | None:
    """Number of fields of a struct or schema; None for other types."""
    return len(descriptor[2]) if descriptor[0] in ("struct", "schema") else None


# ----------------------------------------------------------------
# The steps of a memory as an image carries them (M-2.13): their names, and which values each may have.
#
# Hands on the words of M-2.6 and the checker of the record.

if TYPE_CHECKING:
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
STEP_TIERS = ("Ephemeral", "Session", "Persistent")
SOURCES = (*STEP_TIERS, "Messages")
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
        and value[0] in ("", *(tier.lower() for tier in STEP_TIERS)) and value[1] != "" and "*" not in value[1][:-1]
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


# ----------------------------------------------------------------

TIERS = ("persistent", "session", "ephemeral")
CLAUSES = ("needs", "reads")
CONSTANTS: dict[int, f.Checker] = {
    i.K_INT: f.int64,
    i.K_FLOAT: f.float64,
    i.K_STRING: f.text,
    i.K_VARIANT: f.row(f.natural, f.natural),
    i.K_METHOD: f.row(f.name, f.natural, rest=f.name),
    i.K_BUILTIN: f.row(f.name, f.name),
    i.K_ERROR: f.row(f.name, f.optional(f.name), rest=f.name),
    i.K_CONFIG: f.row(f.name, f.natural, f.name),
}


def _constant(value: Any, limits: Limits) -> None:
    if type(value) is not list or len(value) != 2:
        raise f.Misshapen("a kind and a value expected")
    if type(value[0]) is not int or value[0] not in CONSTANTS:
        raise f.Misshapen(f"{value[0]!r} is no kind of constant")
    CONSTANTS[value[0]](value[1], limits)


def _prices(value: Any, limits: Limits) -> None:
    """Of a million tokens in and out, and where one is set, those cached and those written to a cache (O-1.221)."""
    (ALL_PRICES if type(value) is list and len(value) == 4 else TWO_PRICES)(value, limits)


TWO_PRICES = f.row(f.number, f.number)
ALL_PRICES = f.row(f.number, f.number, f.optional(f.number), f.optional(f.number))


# Per record, a checker for each of its fields in order.
RECORDS: dict[type[i.Record], tuple[f.Checker, ...]] = {
    i.Header: (
        f.row(f.natural, f.natural),  # format
        f.natural,  # opcodes
        f.natural,  # std
        f.name,  # compiler
        f.name,  # name
        f.optional(f.natural),  # entry
        f.listed(f.text),  # wanted
        f.mapped(f.number),  # budgets
        f.mapped(_prices),  # pricing
    ),
    i.Function: (
        f.name,
        f.listed(f.row(f.name, f.natural, f.optional(f.natural)), "parameters"),  # params
        f.natural,  # result
        f.natural,  # slots
        f.listed(f.natural),  # captures
        f.natural,  # cells
        f.natural,  # stack
        f.natural,  # flags
        f.binary,  # code
        f.listed(f.row(f.natural, f.natural, f.natural, f.natural)),  # handlers
        f.binary,  # lines
        f.digest,  # hash
    ),
    i.Schema: (f.name, f.natural, f.plain, f.plain, f.optional(f.plain), f.listed(f.natural)),
    i.Model: (
        f.name,
        f.name,  # connection
        f.mapped(f.plain),
        f.optional(f.natural),  # computed
        f.optional(f.one_or_more(f.natural)),  # memory
        f.listed(f.row(f.name, f.natural, f.listed(f.text))),  # tools
        f.listed(f.row(f.name, f.mapped(f.plain))),  # decorators
    ),
    i.Tool: (
        f.name,
        f.text,  # description
        f.natural,  # state
        f.listed(f.row(f.name, f.natural, f.text, f.text, f.plain, f.plain, f.optional(f.text), f.optional(f.text))),  # methods
    ),
    i.Mcp: (f.name, f.mapped(f.plain), f.listed(f.row(f.name, f.text, f.optional(f.text), f.plain, f.plain))),
    i.Agent: (f.name, f.mapped(f.plain), f.listed(f.row(f.name, f.mapped(f.plain)))),
    i.Connection: (f.name, f.mapped(f.plain)),
    i.HashMap: (f.name, f.natural, f.natural, f.optional(f.text), f.optional(f.plain)),
    i.Ledger: (f.name,),
    i.Memory: (f.name, f.optional(f.positive), steps, f.optional(f.natural), f.optional(f.natural)),
    i.Context: (
        f.name,
        f.listed(f.row(f.word(*TIERS), f.name, f.natural, f.boolean, f.optional(f.natural), rest=f.name)),  # slots
        f.listed(f.row(f.natural, f.word(*CLAUSES), f.name, f.listed(f.name))),  # uses
    ),
    i.Pipeline: (
        f.name,
        f.natural,  # input
        f.natural,  # output
        f.listed(f.row(f.name, f.optional(f.natural), f.natural, f.listed(f.row(f.name, f.mapped(f.plain))), f.natural)),
    ),
    i.Test: (f.text, f.natural, f.boolean, f.optional(f.text)),
    i.Exports: (f.mapped(f.natural), f.listed(f.natural)),
}


def _record(kind: type[i.Record]) -> f.Checker:
    checkers = RECORDS[kind]
    assert len(checkers) == len(kind.__slots__)

    def check(value: Any, limits: Limits) -> None:
        if type(value) is not list or len(value) != len(checkers):
            raise f.Misshapen(f"{len(checkers)} fields expected")
        index = -1
        try:
            for checker in checkers:
                index += 1
                checker(value[index], limits)
        except f.Misshapen as error:
            raise error.at(f".{kind.__slots__[index]}") from None

    return check


def _unknown(value: Any, limits: Limits) -> None:
    raise f.Misshapen("this version knows no entries of this section")


# Sections that are no list of records.
_PLAIN_SECTIONS: dict[str, f.Checker] = {
    "constants": f.listed(_constant, "constants"),
    "types": f.listed(check_descriptor),
    "source_map": f.listed(f.row(f.text, f.digest)),
    "names": f.listed(f.listed(f.row(f.name, f.natural, f.natural, f.natural)), "functions"),
    "source": f.listed(f.source_text),
}
_SINGLE = (i.Header, i.Exports)  # sections that are one record, not a list of them


def _section(name: str, kind: type[i.Record] | None) -> f.Checker:
    if kind is None:
        return _PLAIN_SECTIONS.get(name) or f.listed(_unknown)
    if kind in _SINGLE:
        return _record(kind)
    return f.listed(_record(kind), "functions" if kind is i.Function else "")


_SECTIONS = tuple((name, _section(name, kind)) for name, kind in i.SECTIONS)


def check_sections(value: Any, limits: Limits) -> None:
    """ImageError V008 with section, entry and field unless `value` has the shape of an image."""
    if type(value) is not list or len(value) != len(_SECTIONS):
        raise i.ImageError("V008", f"an image has {len(_SECTIONS)} sections")
    for (name, checker), section in zip(_SECTIONS, value, strict=True):
        try:
            checker(section, limits)
        except f.Misshapen as error:
            place = name if str(error)[0] in "[." else f"{name}: "
            raise i.ImageError("V008", f"{place}{error}") from None


def build(value: list[Any]) -> i.Image:
    """Records of checked data."""
    sections = []
    for (name, kind), section in zip(i.SECTIONS, value, strict=True):
        if name == "constants":
            section = [(tag, inner) for tag, inner in section]
        elif kind in _SINGLE:
            section = kind(*section)
        elif kind is not None:
            section = [kind(*entry) for entry in section]
        sections.append(section)
    return i.Image(*sections)


def lower(image: i.Image) -> list[Any]:
    """The data of an image: every record is the list of its fields."""
    sections = []
    for (_, kind), section in zip(i.SECTIONS, image.values(), strict=True):
        if kind in _SINGLE:
            sections.append(section.values())
        elif section is image.constants:
            sections.append([_one_nan(tag, value) for tag, value in section])
        elif kind is None:
            sections.append(section)
        else:
            sections.append([entry.values() for entry in section])
    return sections


def _one_nan(tag: int, value: Any) -> list[Any]:
    """A constant; arithmetic gives NaNs of several patterns, an image holds one."""
    return [tag, float("nan") if tag == i.K_FLOAT and value != value else value]
