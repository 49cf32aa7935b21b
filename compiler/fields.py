"""What the checker adds to the rows of `vm/declaration_fields`: a type for each field, what may be written in place of an
illegal value, and which rows are plain constants (O-1.4 to O-1.59).

Hands on to the checker tables of `Rule`s by the name of the field, one for each kind of declaration (`CONNECTION`, `MODEL`,
`AGENT`, `MCP` …), the names of all its fields (`…_FIELDS`), those that are or may be objects (`…_OBJECTS`), RETRY, TEXT,
MCP_CARRIED, `rule`, which makes a `Rule` of a row, `own_names`, `arguments` of decorators, and `is_carried`; to the resolver
FIELD_WORDS and DECORATOR_ARGUMENTS. The fields themselves and their ranges stand in `vm/declaration_fields`, where the runtime
and the manifest read them: a new field is a row there. Reporting is the matter of the checker; nothing is raised here but
KeyError for what no table has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..vm import declaration_fields as rows
from ..vm.declaration_fields import Field
from ..vm.providers import PROVIDERS
from .hints.names import VALUES, nearest
from .types import ANY, FLOAT, INT, STRING, Type, array, map_


@dataclass(frozen=True, slots=True)
class Rule:
    """What one field holds: its type, a description in words, and a test of a constant value. `example` returns what may be
    written in place of an illegal value. `name`: the field's own name, which counts where it is written by another one, "" for a
    rule of a single field; `timed`: a constant text may say it, as a duration; `reads` returns a constant as the image holds it,
    and `legal` is asked of what it returns."""

    type: Type
    words: str
    legal: Callable[[object], bool]
    example: Callable[[object], str]
    name: str = ""
    timed: bool = False
    reads: Callable[[object], object] = lambda value: value


def is_carried(field: str, provider: object) -> bool:
    """Return whether a connection of that provider may have the field. For an unknown provider the answer is true: its
    error is reported elsewhere."""
    row = PROVIDERS.get(provider) if isinstance(provider, str) else None
    return row is None or row.carries(field)


# The type of each kind of field that one constant can hold.
TYPES: dict[str, Type] = {
    rows.TEXT: STRING, rows.ADDRESS: STRING, rows.WORD: STRING, rows.NUMBER: FLOAT, rows.WHOLE: INT, rows.LIMITS: FLOAT,
    rows.TEXTS: array(STRING), rows.WORDS: array(STRING), rows.LIST: array(ANY), rows.MAP: map_(STRING, STRING),
    rows.VARIABLES: map_(STRING, STRING), rows.DATA: map_(STRING, ANY), rows.SWITCH: ANY, rows.TOOLS: array(ANY),
}  # fmt: skip


def rule(field: Field, name: str = "") -> Rule:
    """Return what one field holds, for a field of a kind in TYPES; `name` is as in `Rule`; KeyError for one of another kind."""
    timed = field.unit == "s" and field.kind != rows.WHOLE
    reads = (lambda value: rows.as_held(field, value)) if timed else (lambda value: value)
    return Rule(TYPES[field.kind], field.says, field.takes, lambda value: _example(field, value), name, timed, reads)


def duration(field: Field, name: str) -> Rule:
    """Return what a field of that name holds where it is written as a duration, whatever the unit of the field; `name` is the
    field's own."""
    reads = lambda value: rows.as_held(field, value, True)  # noqa: E731
    words = f"{rows.WITH_UNIT}, of whole seconds" if field.kind == rows.WHOLE and field.unit == "s" else rows.WITH_UNIT
    return Rule(FLOAT, words, field.takes, lambda value: '"500ms"' if field.unit == "ms" else '"30s"', name, True, reads)


def rules(fields: Mapping[str, Field], *besides: str) -> dict[str, Rule]:
    """Return the rules of the fields that one constant can hold, without the names in `besides`: by their own names, and behind
    all of them by the others."""
    chosen = {name: field for name, field in fields.items() if field.kind in TYPES and name not in besides}
    others = {other: rule(field, name) for name, field in chosen.items() for other in field.also}
    plain = {other: duration(field, name) for name, field in chosen.items() for other in field.plain}
    return {**{name: rule(field, name) for name, field in chosen.items()}, **others, **plain}


def own_names(table: Mapping[str, Rule]) -> list[str]:
    """Return the names of a table of rules without other names of the same fields."""
    return [name for name, row in table.items() if row.name in ("", name)]


USUAL = 30  # seconds, in examples of a field that must be above its bound


def _example(field: Field, value: object) -> str:
    if field.kind in (rows.NUMBER, rows.WHOLE, rows.LIMITS):
        return _number(field, value)
    if field.kind == rows.WORD:
        return f'"{_like(value, field.words)}"'
    if field.kind == rows.SWITCH:
        return "true"
    if field.kind == rows.WORDS:
        return "[" + ", ".join(f'"{_like(item, field.words)}"' for item in _items(value)) + "]"
    return f'"{_address(field, str(value))}"' if field.kind == rows.ADDRESS else "…"


_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def _address(field: Field, value: str) -> str:
    """Return the written address with the scheme that it lacks, if that makes it legal; else an example."""
    mended = "https://" + _SCHEME.sub("", value).lstrip("/")
    return mended if field.takes(mended) else "https://example.com/v1"


def _number(field: Field, value: object) -> str:
    if field.high is not None and isinstance(value, (int, float)) and value > field.high:
        return str(field.high)
    return str(field.low + USUAL) if field.above else str(field.low)


def _like(value: object, members: Sequence[str]) -> str:
    """Return the word of `members` that was meant: the one that stands for it in other languages, else the nearest, else
    the first."""
    if not isinstance(value, str):
        return members[0]
    elsewhere = next((word for word in VALUES.get(value, ()) if word in members), None)
    return elsewhere or nearest(value, members) or members[0]


def _provider_example(value: object) -> str:
    """Return the provider that was meant. A service that is none of them speaks the protocol of OpenAI at an address."""
    named = next((name for name, row in PROVIDERS.items() if value in row.nicknames), None)
    meant = named or _like(value, ("", *PROVIDERS))
    return f'"{meant}"' if meant else '"custom", base_url: "https://api.example.com/v1"'


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


TEXT = rule(rows.text())

_PROVIDER = rows.one_of(*PROVIDERS)

# Of each kind of declaration: the rules of the fields that are plain constants; of connections also those inside of the fields
# that are objects (CONNECTION_OBJECTS), or either one value or an object (EITHER_OBJECTS, O-1.212); the names of all fields.
CONNECTION: dict[str, Rule] = {
    **rules(rows.CONNECTION, "api_key"),  # which is `env("NAME")` in a source
    "provider": Rule(STRING, _PROVIDER.says, _PROVIDER.takes, _provider_example),
}
_PARTS = {name: (field.kind, rules(field.parts)) for name, field in rows.CONNECTION.items() if field.parts}
CONNECTION_OBJECTS = {name: parts for name, (kind, parts) in _PARTS.items() if kind == rows.OBJECT}
EITHER_OBJECTS = {name: parts for name, (kind, parts) in _PARTS.items() if kind == rows.LIMITS}
CONNECTION_FIELDS = tuple(rows.CONNECTION)

EMBEDDER = rules(rows.EMBEDDER)
EMBEDDER_FIELDS = tuple(rows.EMBEDDER)
MODEL = rules(rows.MODEL)
MODEL_FIELDS = tuple(rows.MODEL)
RETRY = rules(rows.RETRY)

AGENT = rules(rows.AGENT, "connector")  # which is a name
AGENT_FIELDS = tuple(rows.AGENT)

MCP = rules(rows.MCP)
MCP_FIELDS = tuple(rows.MCP)
# The fields that belong to one way of reaching a server, a process or an address.
MCP_CARRIED = {"stdio": ("command", "args", "env"), "http": ("url", "headers")}

# The words that fields take as Strings, by the name of the field.
FIELD_WORDS: dict[str, tuple[str, ...]] = {
    "provider": tuple(PROVIDERS),
    **{
        name: field.words
        for fields in (rows.CONNECTION, rows.RETRY, rows.AGENT, rows.MCP, *(row.arguments for row in rows.DECORATORS.values()))
        for name, field in fields.items()
        if field.kind in (rows.WORD, rows.WORDS)
    },
}
# The arguments of decorators in the order of their positions.
DECORATOR_ARGUMENTS = {name: tuple(row.arguments) for name, row in rows.DECORATORS.items()}


def arguments(decorator: str, place: str) -> dict[str, Rule]:
    """Return what a decorator takes at a place: the kind of declaration before which it stands. KeyError for an unknown
    decorator."""
    return rules(rows.DECORATORS[decorator].arguments_at(place))
