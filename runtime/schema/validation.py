"""Validation of parsed JSON against a schema type (O-2.14 to O-2.29), and of a reply in particular (O-2.58, O-2.59).

Hands on `validate` to whoever has JSON for a schema type (tools, MCP servers, `acceptance.py`) and `validate_reply` to
`acceptance.py`: both return an `Accepted` with the tree of the value, or all `Violation`s in field order. `PartValidator` judges
parts of a value for `partial_values.py`. Hands on to `acceptance.py` the violations that it finds itself (`parse_violation`,
`truncated_violation`, `several_violation`, `validator_violation`) and `objects_of`, and to the calls of models `schema_failure`
and `retries_exhausted`, which make SchemaErrors of violations. `acceptance.py` finds the JSON in a reply and runs the program's
validators; `records.py: TreeBuilder` makes values of trees. A node of the tree is

    a str, int, float, bool, bytes or None   for String, Int, Float, Bool, Bytes, Nil and string sets
    ("enum", TYPE, VARIANT)              for an enum with unit variants
    ("variant", TYPE, VARIANT, FORM, [(part, node), ...])   for an enum with payloads; parts of a tuple are named "0", "1", …
    ("array", [node, ...])
    ("map", [(key, node), ...])
    ("object", NAME, [(field, node), ...])   fields in declaration order, each present
    ("some", node) and ("none",)         for optional fields
    ("any", value)                       for Any: plain JSON data
"""

from __future__ import annotations

import re

from ...vm.schema import definitions, enum_type, is_optional, type_text
from ...vm.values.containers import from_base64
from ...vm.values.limits import INT_MAX, INT_MIN, float_text
from ...vm.values.text import cut_to
from ..errors import MESSAGE_LENGTH, CallFailure
from .lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ...vm.schema import Field, SchemaType


NONE = ("none",)
LONGEST_LITERAL = 400  # characters of a number in a string that `@coerce` reads
LONG_FORM = frozenset({"variant", "data"})  # the keys of a unit variant that is written as an object (O-2.60)

# Code of a violation: variant of the SchemaError it makes (O-2.29).
VARIANTS = {
    "parse": "ParseError",
    "missing": "MissingField",
    "type": "TypeMismatch",
    "enum": "EnumViolation",
    "validator": "ValidationFailed",
    "truncated": "ParseError",
}


class Violation:
    """One breach of a schema, at `path` (`$.items[0].name`); `code` is a key of VARIANTS, the attribute `text`, the path with the
    argument behind it, is what the model is told (O-2.22); `expected` and `actual` are what the SchemaError says, None for
    nothing."""

    __slots__ = ("path", "code", "expected", "actual", "text")

    def __init__(self, path: str, code: str, text: str, expected: Any = None, actual: Any = None) -> None:
        self.path = path
        self.code = code
        self.text = f"{path}: {text}"
        self.expected = expected
        self.actual = actual

    def as_json(self) -> dict[str, Any]:
        """Return the violation as a SchemaError has it: its five attributes by their names."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        return f"Violation({self.text!r})"


class Accepted:
    """An accepted value: its tree, and whether a member of a set was written in other letter case (`respelt`)."""

    __slots__ = ("tree", "respelt")

    def __init__(self, tree: Any, respelt: bool = False) -> None:
        self.tree = tree
        self.respelt = respelt


def parse_violation(reason: str) -> Violation:
    """Return the violation of a reply without JSON; `reason` is that of JsonRefused."""
    return Violation("$", "parse", f"not valid JSON: {reason}", actual=reason)


def truncated_violation() -> Violation:
    """Return the violation of a reply that ends at the token limit."""
    return Violation("$", "truncated", "the reply was cut off at the token limit")


def several_violation(count: int) -> Violation:
    """Return the violation of a reply in which several different objects fit (O-2.54)."""
    return parse_violation(f"{count} objects in a row that fit, not one")


def validator_violation(path: str, message: str) -> Violation:
    """Return the violation of a value that a validator of the program rejects."""
    return Violation(path, "validator", message)


def objects_of(tree: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """Yield the objects of an accepted tree with their paths: each before what is in it, fields and elements in order."""
    tag = tree[0] if isinstance(tree, tuple) else ""
    if tag == "object":
        yield path, tree
        for name, part in tree[2]:
            yield from objects_of(part, f"{path}.{name}")
    elif tag == "array":
        for number, part in enumerate(tree[1]):
            yield from objects_of(part, f"{path}[{number}]")
    elif tag == "map":
        for key, part in tree[1]:
            yield from objects_of(part, _child(path, key))
    elif tag == "some":
        yield from objects_of(tree[1], path)
    elif tag == "variant":
        for name, part in tree[4]:
            yield from objects_of(part, _payload_path(path, tree[3], len(tree[4]), name))


def validate(kind: SchemaType, value: Any) -> Accepted | list[Violation]:
    """Compare a value of plain JSON, which stays as it is, with a schema type: return its tree, or every violation."""
    return _Validation(kind).outcome(kind, value)


def validate_reply(kind: SchemaType, value: Any) -> Accepted | list[Violation]:
    """Compare as `validate` does, for a model's reply. Another letter case of a set's member is accepted where only one member
    fits so (O-2.59); an object with keys is not where the type declares fields and none of them is among its keys (O-2.58); one
    without any key is, if all fields may be absent."""
    return _ReplyValidation(kind).outcome(kind, value)


class _Validation:
    """One validation. Each method returns the node of a value; on a breach it notes a violation and what it returns means
    nothing, so that all violations are found in one pass."""

    __slots__ = ("known", "violations", "respelt")

    def __init__(self, root: SchemaType) -> None:
        self.known = definitions(root)
        self.violations: list[Violation] = []
        self.respelt = False

    def outcome(self, kind: SchemaType, value: Any) -> Accepted | list[Violation]:
        tree = self.node(kind, value, "$", coerce=False)
        return self.violations or Accepted(tree, self.respelt)

    def node(self, kind: SchemaType, value: Any, path: str, *, coerce: bool) -> Any:
        """Return the node of a value of any type. With `coerce` a scalar may be converted (O-2.16)."""
        tag = kind[0]
        if tag in _FITS:
            return self.scalar(kind, value, path, coerce)
        if tag == "object":
            return self.object(kind, value, path)
        if tag == "array":
            return self.array(kind, value, path, coerce)
        if tag == "map":
            return self.map(kind, value, path, coerce)
        if tag == "enum":
            return self.member(kind, value, path)
        if tag == "sum":
            return self.sum(kind, value, path)
        if tag == "ref":
            return self.node(self.known[kind[1]], value, path, coerce=coerce)
        return ("any", value)

    def scalar(self, kind: SchemaType, value: Any, path: str, coerce: bool) -> Any:
        fits, node = _FITS[kind[0]](value)
        if not fits and coerce:
            fits, node = _FITS[kind[0]](_coerced(kind[0], value))
        if not fits:
            self.mismatch(kind, value, path)
        return node

    def array(self, kind: SchemaType, value: Any, path: str, coerce: bool) -> Any:
        if not isinstance(value, list):
            return self.mismatch(kind, value, path)
        return ("array", [self.node(kind[1], item, f"{path}[{i}]", coerce=coerce) for i, item in enumerate(value)])

    def map(self, kind: SchemaType, value: Any, path: str, coerce: bool) -> Any:
        if not isinstance(value, dict):
            return self.mismatch(kind, value, path)
        return ("map", [(key, self.node(kind[1], v, _child(path, key), coerce=coerce)) for key, v in value.items()])

    def member(self, kind: SchemaType, value: Any, path: str) -> Any:
        name = enum_type(kind)
        value = value if name is None else variant_name(value)
        if not isinstance(value, str):
            return self.mismatch(kind, value, path)
        if value not in kind[1]:
            allowed = ", ".join(compact_json(text) for text in kind[1])
            text = f"expected one of {allowed}; got {compact_json(value)}"
            self.violations.append(Violation(path, "enum", text, expected=list(kind[1]), actual=value))
        return value if name is None else ("enum", name, value)

    def sum(self, kind: SchemaType, value: Any, path: str) -> Any:
        """Return the node of an enum with payloads (L-5.1.9); a unit variant may be its name alone (O-2.60)."""
        _, type_name, variants = kind
        written = value if isinstance(value, dict) else {"variant": value}
        if not isinstance(value, (dict, str)):
            return self.mismatch(kind, value, path)
        if "variant" not in written:
            self.violations.append(Violation(f"{path}.variant", "missing", "missing required field", expected="String"))
            return None
        names = ["enum", [variant[0] for variant in variants], None]
        place = f"{path}.variant" if written is value else path
        before = len(self.violations)
        name = self.member(names, written["variant"], place)
        if len(self.violations) > before:
            return None
        _, form, parts, _ = next(variant for variant in variants if variant[0] == name)
        return ("variant", type_name, name, form, self.payload(form, parts, written, f"{path}.data"))

    def payload(self, form: str, parts: Sequence[Field], holder: dict[str, Any], path: str) -> list[tuple[str, Any]]:
        """Return the parts of a payload, which is the value of `data`; what it returns after a violation means nothing."""
        data = holder.get("data")
        if form == "unit":
            if data is not None and data != {}:
                self.mismatch(["nil"], data, path)
            return []
        single = form == "tuple" and len(parts) == 1
        if "data" not in holder and not (single and parts[0][2]):
            expected = type_text(parts[0][1]) if single else "an object" if form == "struct" else "an array"
            self.violations.append(Violation(path, "missing", "missing required field", expected=expected))
            return []
        if single:
            return [("0", self.field((), parts[0], {"0": data}, path))]
        if form == "struct":
            node = self.object(["object", "object", (), parts], data, path)
            return [] if node is None else list(node[2])
        if not isinstance(data, list) or len(data) != len(parts):
            found = f"an array of {len(data)}" if isinstance(data, list) else json_kind(data)
            text = f"expected an array of {len(parts)}, got {found}"
            self.violations.append(Violation(path, "type", text, expected=f"an array of {len(parts)}", actual=found))
            return []
        items = {part[0]: item for part, item in zip(parts, data, strict=True)}
        return [(part[0], self.field((), part, items, f"{path}[{part[0]}]")) for part in parts]

    def object(self, kind: SchemaType, value: Any, path: str) -> Any:
        """Return the node of an object; undeclared keys are dropped (O-2.20)."""
        if not isinstance(value, dict):
            return self.mismatch(kind, value, path)
        _, name, modes, fields = kind
        return ("object", name, [(f[0], self.field(modes, f, value, f"{path}.{f[0]}")) for f in fields])

    def field(self, modes: SchemaType, field: Field, holder: dict[str, Any], path: str) -> Any:
        """Return the node of a field. Null counts as absence where a field may be absent (O-2.2, O-2.4)."""
        name, kind, is_option, has_default, default, _ = field
        value = holder.get(name)
        optional = is_optional(modes, field)
        if value is None and (optional or (is_option and default is None)):
            return NONE
        if value is None and has_default:
            node = self.node(kind, default, path, coerce=False)
            return ("some", node) if is_option else node
        if name not in holder:
            self.violations.append(Violation(path, "missing", "missing required field", expected=type_text(kind)))
            return None
        node = self.node(kind, value, path, coerce="coerce" in modes)
        return ("some", node) if optional or is_option else node

    def mismatch(self, kind: SchemaType, value: Any, path: str) -> None:
        expected, actual = type_text(kind), json_kind(value)
        beyond = " beyond 64 bits" if type(value) is int and not -(2**63) <= value < 2**63 else ""
        text = f"expected {expected}, got {actual}{beyond}"
        self.violations.append(Violation(path, "type", text, expected=expected, actual=actual))


class _ReplyValidation(_Validation):
    __slots__ = ()

    def member(self, kind: SchemaType, value: Any, path: str) -> Any:
        """Accept a member of a set in another letter case, if only one fits (O-2.59)."""
        value = value if enum_type(kind) is None else variant_name(value)
        if isinstance(value, str) and value not in kind[1]:
            folded = value.casefold()
            alike = [text for text in kind[1] if text.casefold() == folded]
            if len(alike) == 1:
                value = alike[0]
                self.respelt = True
        return super().member(kind, value, path)

    def object(self, kind: SchemaType, value: Any, path: str) -> Any:
        """Refuse an object without any declared key (O-2.58): where a field is required that is a violation already."""
        before = len(self.violations)
        node = super().object(kind, value, path)
        if value and isinstance(value, dict) and len(self.violations) == before:
            names = [field[0] for field in kind[3]]
            if names and value.keys().isdisjoint(names):
                listed = ", ".join(compact_json(name) for name in names)
                violation = Violation(path, "missing", f"has none of the fields {listed}", expected=names, actual=list(value))
                self.violations.append(violation)
        return node


class PartValidator:
    """Compares values of a schema type one by one, while the rest of the reply has not come (O-2.71)."""

    __slots__ = ("_validation",)

    def __init__(self, root: SchemaType) -> None:
        self._validation = _ReplyValidation(root)

    def tree(self, kind: SchemaType, value: Any, coerce: bool) -> Accepted | None:
        """Return the accepted value, compared as `validate_reply` does, of a type `kind` that occurs in the root; None when it
        does not fit. With `coerce` a scalar may be converted (O-2.16); `respelt` is not told."""
        self._validation.violations = []
        tree = self._validation.node(kind, value, "$", coerce=coerce)
        return None if self._validation.violations else Accepted(tree)


def _payload_path(path: str, form: str, count: int, part: str) -> str:
    """Return the path of a part of a payload."""
    if form == "struct":
        return f"{path}.data.{part}"
    return f"{path}.data" if count == 1 else f"{path}.data[{part}]"


def variant_name(value: Any) -> Any:
    """Return the name of a unit variant that is written as an object with `variant`, and with no `data` or null (O-2.60); else
    the value itself."""
    if isinstance(value, dict) and value.keys() <= LONG_FORM and isinstance(value.get("variant"), str):
        return value["variant"] if value.get("data") is None else value
    return value


def json_kind(value: Any) -> str:
    """Return the kind of a JSON value as violations name it (KIND of O-2.25). Raises KeyError for what is no JSON value."""
    if value is None:
        return "null"
    return _KINDS[type(value)]


_KINDS: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def _child(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{compact_json(key)}]"


def _fits_int(value: Any) -> tuple[bool, Any]:
    if type(value) is float and value.is_integer():
        value = int(value)
    return type(value) is int and INT_MIN <= value <= INT_MAX, value


def _fits_float(value: Any) -> tuple[bool, Any]:
    if type(value) not in (int, float):
        return False, None
    try:
        number = float(value)
    except OverflowError:  # an Int beyond every Float, such as one of 350 digits that `@coerce` has read
        return False, None
    return number - number == 0, number  # false for infinities


def _fits_string(value: Any) -> tuple[bool, Any]:
    return type(value) is str, value


def _fits_bytes(value: Any) -> tuple[bool, Any]:
    data = from_base64(value) if type(value) is str else None
    return type(data) is bytes, data


def _fits_bool(value: Any) -> tuple[bool, Any]:
    return type(value) is bool, value


def _fits_nil(value: Any) -> tuple[bool, Any]:
    return value is None, value


_FITS: dict[str, Callable[[Any], tuple[bool, Any]]] = {
    "string": _fits_string, "int": _fits_int, "float": _fits_float, "bool": _fits_bool, "nil": _fits_nil, "bytes": _fits_bytes,
}  # fmt: skip


def _coerced(tag: str, value: Any) -> Any:
    """Convert a scalar as `@coerce` does, before it counts as a mismatch (O-2.16). A String that is no such number or
    Bool gives None; any other value without a conversion comes back as it is."""
    if tag in ("int", "float") and isinstance(value, str):
        return _number_literal(value)
    if tag == "bool" and isinstance(value, str):
        return {"true": True, "false": False}.get(value)
    if tag == "string" and type(value) is bool:
        return "true" if value else "false"
    if tag == "string" and type(value) in (int, float):
        return str(value) if type(value) is int else float_text(value)
    return value


def _number_literal(text: str) -> int | float | None:
    """Read an Int or Float literal of the language, with an optional minus (L-1.4.1 to L-1.4.3); None for any other text."""
    digits = text.removeprefix("-")
    if len(digits) > LONGEST_LITERAL:
        return None
    if digits[:1] == "0" and digits[1:2].lower() in ("x", "o", "b"):
        return _radix_literal(text)
    mantissa, has_exponent, exponent = digits.partition("e")
    whole, has_point, fraction = mantissa.partition(".")
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if not _is_digits(whole) or _is_digits(fraction) != bool(has_point) or _is_digits(power) != bool(has_exponent):
        return None
    plain = text.replace("_", "")
    return float(plain) if has_point or has_exponent else int(plain)


_RADIX = re.compile(r"-?0(?:[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|[oO]_*[0-7][0-7_]*|[bB]_*[01][01_]*)")


def _radix_literal(text: str) -> int | None:
    return int(text.replace("_", ""), 0) if _RADIX.fullmatch(text) else None


def _is_digits(text: str) -> bool:
    return text[:1].isdigit() and text.isascii() and text.replace("_", "").isdigit()


KIND = "SchemaError"
_STEP = re.compile(r'\.[^."\[]+|\[(?:[0-9]+|"(?:[^"\\]|\\.)*")\]')  # of a path: `.name`, `[0]`, `["key of a Map"]`


def _last_field(path: str) -> str:
    """Return the last name of a path with what stands behind it: `m["a.b"]` of `$.x.m["a.b"]`."""
    starts = [step.start() for step in _STEP.finditer(path) if step[0].startswith(".")]
    return path[starts[-1] + 1 :]


def schema_failure(violations: Sequence[Violation], raw_response: str, **origin: Any) -> CallFailure:
    """Return the SchemaError of one failed validation (O-1.120); the first violation, of which there must be one, gives its
    variant and fields (O-2.29). `raw_response` is the text of the reply, `origin` further fields."""
    first = violations[0]
    message = cut_to("; ".join(violation.text for violation in violations), MESSAGE_LENGTH)
    fields: dict[str, Any] = {
        "raw_response": raw_response,
        "violations": [violation.as_json() for violation in violations],
        "path": first.path,
    }
    if first.path.startswith("$."):
        fields["field"] = _last_field(first.path)
    if first.code == "enum":
        fields["allowed"] = first.expected
    else:
        fields["expected"] = first.expected
    fields["actual"] = first.actual
    return CallFailure(KIND, VARIANTS[first.code], message, **fields, **origin)


def retries_exhausted(last: CallFailure, attempts: int, model: str, provider: str) -> CallFailure:
    """Return the SchemaError after the last attempt, `MaxRetriesExceeded` (O-2.47). `last`, the failure of the last attempt as
    `schema_failure` makes it, is its `last_error`; `violations` and `path` of that one can be read at the top, too."""
    noun = "attempt" if attempts == 1 else "attempts"
    return CallFailure(
        KIND,
        "MaxRetriesExceeded",
        cut_to(f"{model}: no valid reply after {attempts} {noun}: {last.message}", MESSAGE_LENGTH + len(model) + 2),
        attempts=attempts,
        last_error=last,
        raw_response=last.fields["raw_response"],
        violations=last.fields["violations"],
        path=last.fields["path"],
        model=model,
        provider=provider,
    )
