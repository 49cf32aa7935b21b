"""The types of a program as types of Python (P-2.1, P-2.3): one walk over the types of an image, written down in two ways.

Hands on `annotated` to `python_modules`, whose signatures have the objects that `Objects` makes, to `pydantic_models`, whose
models are made of such objects too, and to `stubs`, which writes texts and is a `Spelling` itself. A new kind of type is a line
in `annotated`, beside its rows in the conversion of values (`values.py`), which these annotations describe; a name of Python that
is new there is one of `Objects` and of `_BUILTINS` or `_IMPORTED` in `stubs`. No value is converted or checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, Never, Protocol, Union

from .media import Media
from .values import Err, ErrorValue, Handle, Ok, Struct

if TYPE_CHECKING:
    from .declared_classes import DeclaredClasses


class Spelling(Protocol):
    """How types are written, as objects or as texts. `plain` gives a type of Python by its name, `own` one of the package
    `concerto`, `generic` one with arguments (the name Array comes only with `argument`), `either` a union, `words` that of string
    literals, `declared` a type of the program by its key, `kind` being "struct", "schema" or "enum". `argument` says that it is
    what a function takes, which may be more than it gives."""

    def plain(self, name: str) -> Any: ...
    def own(self, name: str) -> Any: ...
    def generic(self, name: str, *parts: Any) -> Any: ...
    def either(self, *parts: Any) -> Any: ...
    def words(self, texts: list[str]) -> Any: ...
    def declared(self, kind: str, key: str, argument: bool) -> Any: ...


def annotated(classes: DeclaredClasses, number: int, spelling: Spelling, *, argument: bool = False) -> Any:
    """Return the annotation of a type of the image, by its number there: of what a value of it is in Python, or with `argument`,
    which only `stubs` gives, of what is taken for one, as far as types of Python say it; that the host's own classes are taken
    for records, and pictures for a Media, is not said. What no value of Python is taken for is Never."""
    rows = classes.program.image.types
    head, *rest = rows[number]

    def part(inner: int) -> Any:
        return annotated(classes, inner, spelling, argument=argument)

    if head in _PLAIN:
        return spelling.plain(_PLAIN[head])
    if head in ("option", "nilable"):
        return spelling.either(part(rest[0]), spelling.plain("None"))
    if head in ("array", "set", "queue", "stack"):
        return spelling.generic("Array" if argument else "list", part(rest[0]))
    if head == "map":
        return spelling.generic("Mapping" if argument else "dict", part(rest[0]), part(rest[1]))
    if head == "tuple":
        return spelling.generic("tuple", *map(part, rest[0])) if rest[0] else spelling.generic("tuple", spelling.plain("()"))
    if head == "union":
        return spelling.words(list(rest[0]))
    if head in ("struct", "schema", "enum"):
        return spelling.declared(head, rest[0], argument)
    return _of_the_language(head, rest, spelling, argument)


def _of_the_language(head: str, rest: list[Any], spelling: Spelling, argument: bool) -> Any:
    if head == "result":
        return spelling.either(spelling.own("Ok"), spelling.own("Err"))
    if head == "error":
        return spelling.own("ErrorValue")
    if head == "bytes":
        both = ("bytes", "bytearray", "memoryview") if argument else ("bytes",)
        return spelling.either(*map(spelling.plain, both))
    if head == "prompt":
        return spelling.either(spelling.plain("str"), spelling.own("Struct")) if argument else spelling.own("Struct")
    if head == "record" and rest[0] == "Media":
        others = (spelling.plain("bytes"), spelling.plain("PurePath")) if argument else ()
        return spelling.either(spelling.own("Media"), *others)
    if head == "record":
        anything = spelling.generic("Mapping", spelling.plain("str"), spelling.plain("Any"))
        return spelling.either(spelling.own("Struct"), anything) if argument else spelling.own("Struct")
    if head == "handle" or (head == "fn" and not argument):
        return spelling.own("Handle")
    if argument:  # of these a program takes no value from its host
        return spelling.plain("Never")
    if head == "range":
        return spelling.generic("dict", spelling.plain("str"), spelling.plain("Any"))
    return spelling.plain("Never" if head == "never" else "Any")


_PLAIN = {"int": "int", "float": "float", "string": "str", "bool": "bool", "nil": "None", "any": "Any"}


class Objects:
    """Annotations as Python has them in signatures at run time; a Spelling whose methods return objects of `typing` and classes.
    `classes` are those of the program, of which `declared` takes the class of a type. It is for what values are: it has no
    `generic` of the name Array."""

    PLAIN = {
        "int": int, "float": float, "str": str, "bool": bool, "None": None, "Any": Any, "Never": Never, "bytes": bytes,
        "bytearray": bytearray, "memoryview": memoryview, "PurePath": PurePath, "()": (),
    }  # fmt: skip
    OWN = {"Ok": Ok, "Err": Err, "ErrorValue": ErrorValue, "Struct": Struct, "Media": Media, "Handle": Handle}
    GENERIC: dict[str, Any] = {"list": list, "tuple": tuple, "dict": dict, "Mapping": Mapping}

    def __init__(self, classes: DeclaredClasses) -> None:
        self.classes = classes

    def plain(self, name: str) -> Any:
        return self.PLAIN[name]

    def own(self, name: str) -> Any:
        return self.OWN[name]

    def generic(self, name: str, *parts: Any) -> Any:
        return self.GENERIC[name][parts[0] if len(parts) == 1 else parts]

    def either(self, *parts: Any) -> Any:
        return Union[parts]  # noqa: UP007  # of parts that are known only now

    def words(self, texts: list[str]) -> Any:
        return Literal[tuple(texts)]

    def declared(self, kind: str, key: str, argument: bool) -> Any:
        return self.classes.of(self.classes.declarations[key])
