"""Error families and error values (L-3.11, O-1.117 to O-1.122, M-6.23).

Hands on the table `FAMILIES` (one row per family, to resolver, checker, hints, signatures of built-ins and snapshots),
`is_family`, `ancestors` and `nearest_family`, which ask the tree of families, `ErrorValue` and `make_error` to whoever makes or
reads errors, `default_message` to tests, `FIELD_TYPES` to snapshots and to records of a run (`runtime/journal/forms.py`),
`ADDED_FIELDS` to the checker, `FAULTS` to the checker, the offline provider and faults of a replay (`runtime/journal/border.py`,
which takes `FAMILIES` too, and `cli/journals.py`), and `FOR_MODEL` to the runtime and the API. A family is the type of a built-in
error (`SchemaError`), a variant its case (`SchemaError::ParseError`); a new one is a row of `_ROWS`. Panics, which no program
catches, are in `vm/panics.py`; where an error is thrown and caught is not decided here.
"""

from __future__ import annotations

from ..panics import Panic
from .containers import share
from .types import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .objects import Way
    from .types import Descriptor


_STRING: Descriptor = ("nilable", ("string",))
_INT: Descriptor = ("nilable", ("int",))

_TYPED_FIELDS: tuple[tuple[str, Descriptor], ...] = (
    ("model provider raw_response path field connection tool method channel input pattern url name", _STRING),
    ("memory function store pipeline stage capability flag limit bound raw_line stderr", _STRING),
    ("exception traceback module interpreter", _STRING),
    ("status retry_after_ms attempts line column needed budget found supported exit_code", _INT),
    ("timeout_seconds", ("nilable", ("float",))),
    ("violations", ("nilable", ("array", ("map", ("string",), ("any",))))),
    ("slots", ("nilable", ("array", ("string",)))),
    ("seqs", ("nilable", ("array", ("int",)))),
    ("last_error", ("nilable", ("error", "SchemaError"))),
    ("expected actual allowed cause wanted left", ("any",)),
)
# The type of each extra field; all are nilable, since a value need not carry them (L-3.11.13).
FIELD_TYPES: dict[str, Descriptor] = {name: kind for names, kind in _TYPED_FIELDS for name in names.split()}

# What a pipeline adds to the error that stops it, of whatever family (O-6.20).
ADDED_FIELDS = ("pipeline", "stage")


# Errors that scripted replies name, each with the status of the answer it stands for; None: there is no answer, or one without
# such a status (O-8.22).
FAULTS: dict[str, int | None] = {
    "rate_limit": 429, "server": 500, "connection": None, "timeout": None, "auth": 401, "not_found": 404, "refusal": None,
}  # fmt: skip


class Family:
    """A family: its parent (None for `Error`), its variants with the fields of their struct form, the names of the extra fields
    that each of its errors may carry, and the clause that defines it."""

    __slots__ = ("name", "parent", "variants", "fields", "clause")

    def __init__(self, name: str, parent: str | None, variants: str, fields: str, clause: str) -> None:
        self.name = name
        self.parent = parent
        self.variants = _parse_variants(variants)
        self.fields = tuple(fields.split())
        self.clause = clause

    def all_fields(self) -> tuple[str, ...]:
        """Return the extra fields of the family and of its variants' struct forms, each once."""
        names = list(self.fields)
        for variant_fields in self.variants.values():
            names.extend(field for field in variant_fields if field not in names)
        return tuple(names)


def _parse_variants(text: str) -> dict[str, tuple[str, ...]]:
    """Return `A B(x,y)` as `{"A": (), "B": ("x", "y")}`."""
    variants = {}
    for word in text.split():
        name, _, fields = word.rstrip(")").partition("(")
        variants[name] = tuple(fields.split(",")) if fields else ()
    return variants


# Name, parent, variants as `_parse_variants` reads them, extra fields, clause. A new field needs its type in `_TYPED_FIELDS`.
_ROWS = (
    ("Error", None, "", "", "L-3.11.1"),
    (
        "AgentError", "Error",
        "ModelNotFound RateLimited ContentFiltered InvalidRequest InvalidResponse ToolLoopLimit Shutdown Cancelled "
        "PermissionDenied(capability,flag) SpawnFailed Exited(exit_code,stderr) Protocol(raw_line,stderr) Failed EffectUnknown "
        "Unsupported",
        "model provider status retry_after_ms", "L-3.11.2",
    ),
    (
        "SchemaError", "AgentError",
        "ParseError MissingField TypeMismatch(field,expected,actual) EnumViolation(field,allowed,actual) "
        "ValidationFailed MaxRetriesExceeded(attempts,last_error,raw_response)",
        "raw_response violations path", "L-3.11.3",
    ),
    (
        "ConnectionError", "AgentError",
        "MissingKey AuthenticationFailed NetworkError ProviderUnavailable Open(retry_after_ms)", "connection status", "L-3.11.4",
    ),
    ("TimeoutError", "AgentError", "", "timeout_seconds limit stderr", "L-3.11.5"),
    (
        "BudgetError", "AgentError", "Tokens(wanted,left) Cost(wanted,left) ModelCalls(wanted,left) Unpriced", "wanted left",
        "L-3.11.18",
    ),
    (
        "MemoryError", "AgentError",
        "Conflict(expected,actual) Nested Overflow(needed,budget,seqs) InvalidUnit Exists NotFound Store(store) "
        "Version(found,supported) Corrupt Redaction Bound(bound) View",
        "", "M-6.23",
    ),
    (
        "ToolError", "Error",
        "ToolNotFound InvalidArguments PermissionDenied(capability,flag) ExecutionFailed Timeout ConnectionFailed EffectUnknown "
        "Unsupported",
        "tool method", "L-3.11.6",
    ),
    ("HashMapError", "Error", "KeyNotFound TypeMismatch", "", "L-3.11.7"),
    ("EmitError", "Error", "NoListener Timeout HandlerFailed WrongAnswer EffectUnknown", "channel", "L-3.11.8"),
    ("RuntimeError", "Error", "", "", "L-3.11.9"),
    ("JsonError", "Error", "", "line column", "L-3.11.9"),
    ("ParseError", "Error", "", "input line column", "L-3.11.9"),
    ("RegexError", "Error", "", "pattern", "L-3.11.9"),
    ("HttpError", "Error", "InvalidUrl Network Timeout PermissionDenied(capability,flag) EffectUnknown", "url", "L-3.11.10"),
    (
        "FsError", "Error",
        "NotFound PermissionDenied(capability,flag) NotAFile InvalidUtf8 Io Unsupported EffectUnknown", "path", "L-3.11.11",
    ),
    (
        "MediaError", "Error",
        "NotFound PermissionDenied(capability,flag) NotAFile Io Unsupported UnknownContent OtherKind TooLarge InvalidUrl "
        "NoContent Unreadable Timeout", "path",
        "L-3.11.19",
    ),
    ("DateError", "Error", "Invalid UnknownZone NoTimeZones OutOfRange", "input column", "L-3.11.17"),
    ("IoError", "Error", "Unavailable InvalidUtf8 TooLong Io", "", "L-3.11.16"),
    (
        "HostError", "Error",
        "Raised(exception,traceback) WrongType(path,expected,actual) NotFound(module,interpreter) "
        "PermissionDenied(capability,flag) Timeout(timeout_seconds) EffectUnknown",
        "function", "L-3.11.20",
    ),
    ("EnvError", "Error", "NotSet PermissionDenied(capability,flag)", "name", "L-3.11.12"),
    ("PipelineError", "Error", "", "cause pipeline stage", "O-1.122"),
    ("TaskError", "Error", "Cancelled", "", "O-6.13"),
    ("MissingContextError", "Error", "", "memory slots function", "M-10.3"),
)

FAMILIES: dict[str, Family] = {row[0]: Family(*row) for row in _ROWS}


def is_family(name: str, ancestor: str) -> bool:
    """Return whether family `name` is `ancestor` or descends from it (L-3.11.15). Raises KeyError for another `name` that is no
    family."""
    at: str | None = name
    while at is not None:
        if at == ancestor:
            return True
        at = FAMILIES[at].parent
    return False


def ancestors(name: str) -> list[str]:
    """Return the names of a family and of those it descends from, nearest first. Raises KeyError for no family."""
    names = [name]
    while (parent := FAMILIES[names[-1]].parent) is not None:
        names.append(parent)
    return names


def nearest_family(a: str, b: str) -> str:
    """Return the name of the nearest common family of two (L-3.4.1). Raises KeyError for no family."""
    at = a
    while not is_family(b, at):
        at = FAMILIES[at].parent or "Error"
    return at


# The name of a field that no program can read and that `==`, JSON and the host leave out: what a model is told of the error where
# its message must not go (G-9.10). No name of a program holds a blank.
FOR_MODEL = "for model"


class ErrorValue:
    """A built-in error, immutable: of the family of the name `family`, with a `variant`, None for none, and its `message`.
    `fields`: the extra fields it carries, without nil ones. `way`: how it came to the handler that took it last, which is no part
    of the value (L-5.11.3)."""

    __slots__ = ("family", "variant", "message", "fields", "way")

    def __init__(
        self, family: str, variant: str | None, message: str, fields: Mapping[str, Any] | None = None
    ) -> None:
        self.family = family
        self.variant = variant
        self.message = message
        self.fields = {name: share(value) for name, value in fields.items() if value is not None} if fields else {}
        self.way: Way = ()

    @classmethod
    def of_text(cls, family: str, message: str, text: str) -> ErrorValue:
        """Return an error without a variant whose one field is `input`, a text: what a loop over texts may make of each."""
        error = cls.__new__(cls)
        error.family, error.variant, error.message, error.fields, error.way = family, None, message, {"input": text}, ()
        return error

    @property
    def type_name(self) -> str:
        """The name of its family, which `typeof` gives."""
        return self.family

    def get(self, name: str) -> Any:
        """Return a member by name: `kind`, `variant`, `message` or an extra field; one that the value does not carry is nil
        (L-3.11.13)."""
        if name == "kind":
            return self.family
        if name == "variant" or name == "message":
            return getattr(self, name)
        return self.fields.get(name)

    def __repr__(self) -> str:
        return f"ErrorValue({self.family}, {self.variant}, {self.message!r}, {self.fields!r})"


def default_message(family: str, variant: str | None) -> str:
    """Return the message of `F::V` without one: the words of its name, as `rate limited`."""
    name = variant or family
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return words.strip()


def make_error(family: str, variant: str | None = None, args: Any = ()) -> ErrorValue:
    """Return the error that `F::new(msg)`, `F::V` or `F::V(msg)` makes, from a tuple of arguments, or `F::V { … }`, from a dict
    of fields (L-3.11.13). `args` stays as it is.

    A `message` among the fields is the message; a message left out, or nil, is the default one. Raises P007 for a message that is
    no String.
    """
    fields = dict(args) if isinstance(args, dict) else {}
    message = fields.pop("message", None) if fields else (args[0] if args else None)
    if message is None:
        message = _describe(family, variant, fields)
    elif type(message) is not str:
        raise Panic("P007", f"expected String as the message of {family}, found {typeof(message)}")
    return ErrorValue(family, variant, message, fields)


def _describe(family: str, variant: str | None, fields: Mapping[str, Any]) -> str:
    """Return the default message of the struct form, with those fields that are Strings, Ints or Bools: `type mismatch: field
    age, expected Int, actual String`."""
    shown = [(name, str(value).lower() if type(value) is bool else value) for name, value in fields.items()]
    details = ", ".join(f"{name} {value}" for name, value in shown if isinstance(value, str | int))
    return default_message(family, variant) + (f": {details}" if details else "")
