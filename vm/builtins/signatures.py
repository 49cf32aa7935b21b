"""Signatures of built-ins as data: the text a row carries, parsed into descriptors.

Hands on `parse_signature`, `parse_type`, `Parameter` and `Signature` to `registry.py`, whose rows have them, `parse_type` also to
the checker (`compiler/checker/memory_steps.py`), `REQUIRED` through the package `vm/builtins` to the checker and to dispatch,
`name_in` to `registry.py`, `hashmaps.py` and `interp/context_slots.py`, `EMPTY_MAP` to the code generator. The trees are the
descriptors of `values/types.py`, so checker and machine read the same types; a name of one capital letter is a type parameter,
`("var", "T")`. Only texts of our own tables are read, so a malformed one is found by tests, not by a careful message.

    name<U>(first: Int, rest: fn(T) -> U, last: String = "") -> Array<U>        a parameter `values: Any...` repeats
"""

from __future__ import annotations

from ..values.containers import Map
from ..values.errors import FAMILIES
from ..values.objects import RECORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from ..values.types import Descriptor


SIMPLE: dict[str, Descriptor] = {
    "Int": ("int",), "Float": ("float",), "String": ("string",), "Bool": ("bool",), "Nil": ("nil",), "Any": ("any",),
    "never": ("never",), "Range": ("range",), "Bytes": ("bytes",), "Prompt": ("prompt",), "Memory": ("handle", "MemoryRef"),
    "Stream": ("handle", "Stream"), "Ledger": ("handle", "Ledger"), "LedgerQuery": ("handle", "LedgerQuery"),
    "Tuple": ("tuple", ()),  # as a receiver: a tuple of any length
}
GENERIC = {
    "Array": "array", "Map": "map", "Option": "option", "Result": "result", "Task": "task", "Set": "set", "Queue": "queue",
    "Stack": "stack", "HashMap": "hashmap", "PipelineRef": "pipeline", "Index": "index",
    "TypedStream": "typed_stream", "ItemStream": "item_stream", "HostStream": "host_stream",
}
CONSTANTS: dict[str, Any] = {"nil": None, "true": True, "false": False}
# The default `{}`; it is marked as shared, so whoever writes to what he was given writes to a copy.
EMPTY_MAP: Final = Map({})
EMPTY_MAP.shared = True


class Required:
    """Marks a parameter without a default, which is not the default `nil`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = Required()


class Parameter:
    """One parameter: its type, its default (a value) or `REQUIRED`, and whether it takes all further arguments."""

    __slots__ = ("name", "type", "default", "variadic")

    def __init__(self, name: str, kind: Descriptor, default: Any = REQUIRED, variadic: bool = False) -> None:
        self.name = name
        self.type = kind
        self.default = default
        self.variadic = variadic

    @property
    def optional(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not REQUIRED


class Signature:
    """A parsed signature; `parameters` without the receiver, `type_parameters` as names, `result` as a descriptor."""

    __slots__ = ("name", "type_parameters", "parameters", "result")

    def __init__(
        self, name: str, type_parameters: tuple[str, ...], parameters: tuple[Parameter, ...], result: Descriptor
    ) -> None:
        self.name = name
        self.type_parameters = type_parameters
        self.parameters = parameters
        self.result = result


def tokens(text: str) -> list[str]:
    """Return the tokens of a signature: words, string literals with their quotes, `->`, `...` and single signs. Raises ValueError
    for a literal without its closing quote."""
    words = []
    at = 0
    while at < len(text):
        end = at + 1
        if text[at].isalnum() or text[at] == "_":
            while end < len(text) and (text[end].isalnum() or text[end] in "_."):
                end += 1
        elif text[at] == '"':
            end = text.index('"', end) + 1
        elif text[at : at + 2] == "->":
            end = at + 2
        elif text[at : at + 3] == "...":
            end = at + 3
        if not text[at].isspace():
            word = text[at:end]
            words.extend([word[:-3], "..."] if word.endswith("...") and len(word) > 3 else [word])
        at = end
    return words


class Reader:
    """Recursive descent over the tokens of one signature. A method reads the part that it is named after, goes behind it and
    returns it; a malformed text raises ValueError or IndexError."""

    __slots__ = ("tokens", "at")

    def __init__(self, text: str) -> None:
        self.tokens = [*tokens(text), ""]
        self.at = 0

    def take(self) -> str:
        """Take the next token, whatever it is, and return it."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Take the next token if it is this one; return whether it was."""
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        """Take this token. Raises ValueError for another."""
        if not self.accept(token):
            raise ValueError(f"expected {token!r} at {self.tokens[self.at :]}")

    def types_until(self, closing: str) -> tuple[Descriptor, ...]:
        """Read types, perhaps with commas between them, up to and with the token `closing`."""
        types: list[Descriptor] = []
        while not self.accept(closing):
            types.append(self.type())
            self.accept(",")
        return tuple(types)

    def type(self) -> Descriptor:
        base = self.base()
        return ("nilable", base) if self.accept("?") else base

    def base(self) -> Descriptor:
        """Read a type without the `?` behind it."""
        name = self.take()
        if name.startswith('"'):
            return ("union", self.words(name))
        if name == "(":
            types = self.types_until(")")
            is_itself = len(types) == 1 and self.tokens[self.at - 2] != ","
            return types[0] if is_itself else ("tuple", types)
        if name == "fn":
            self.expect("(")
            parameters = self.types_until(")")
            return ("fn", parameters, self.type() if self.accept("->") else ("nil",))
        if name in GENERIC:
            return (GENERIC[name], *(self.types_until(">") if self.accept("<") else ()))
        return named(name)

    def words(self, first: str) -> tuple[str, ...]:
        """Read a string union behind its first word."""
        words = [first]
        while self.accept("|"):
            words.append(self.take())
        return tuple(word[1:-1] for word in words)

    def parameter(self) -> Parameter:
        name = self.take()
        self.expect(":")
        kind = self.type()
        variadic = self.accept("...")
        default = self.literal() if self.accept("=") else REQUIRED
        return Parameter(name, kind, default, variadic)

    def literal(self) -> Any:
        """Return the value of a default: a constant word, a String, a number or the empty Map."""
        if self.accept("{"):
            self.expect("}")
            return EMPTY_MAP
        if self.accept("-"):
            return -int(self.take())
        token = self.take()
        if token in CONSTANTS:
            return CONSTANTS[token]
        if token.startswith('"'):
            return token[1:-1]
        return float(token) if "." in token else int(token)

    def signature(self) -> Signature:
        name = self.take()
        type_parameters = self.types_until(">") if self.accept("<") else ()
        self.expect("(")
        parameters = []
        while not self.accept(")"):
            parameters.append(self.parameter())
            self.accept(",")
        self.expect("->")
        result = self.type()
        self.expect("")
        return Signature(name, tuple(t[1] for t in type_parameters), tuple(parameters), result)


def named(name: str) -> Descriptor:
    """Return the descriptor of a type without arguments; any name that is not known here is a handle's."""
    if name in SIMPLE:
        return SIMPLE[name]
    if len(name) == 1 and name.isupper():
        return ("var", name)
    if name in FAMILIES:
        return ("error", name)
    return ("struct", name) if name in RECORDS else ("handle", name)


def parse_signature(text: str) -> Signature:
    """Return the signature of a row's text. Raises ValueError or IndexError for a malformed one."""
    return Reader(text).signature()


def parse_type(text: str) -> Descriptor:
    """Return the descriptor of the type that a text begins with; what follows it is not read. Raises ValueError or IndexError
    for a malformed one."""
    return Reader(text).type()


def name_in(text: str) -> str:
    """Return the name that a signature begins with, without reading the rest. Raises ValueError for a text without `(`."""
    return text[: text.index("(")].partition("<")[0]
