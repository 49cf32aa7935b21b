"""The tables of an image under construction: constants, types, functions, declarations, each entry once.

Hands on indexes. Must not know: trees, instructions.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...vm.bytecode import image as im
from .. import types as t
from ..checker.implementing import matched


class Pool:
    """Interns constants and types; collects functions."""

    def __init__(self) -> None:
        self.constants: list[tuple[int, Any]] = []
        self._constant_index: dict[str, int] = {}
        self.types: list[Any] = []
        self._type_index: dict[Any, int] = {}
        self.functions: list[im.Function | None] = []
        self.declared: dict[t.Nominal, list[Any]] = {}
        self.implementations: dict[t.Implementation, list[int]] = {}  # the functions behind each impl of a trait
        self.handles: dict[t.Type, str] = {}  # what the handles of models and tools with impls are called
        self._traits: dict[tuple[str, ...], str] = {}
        self._trait_types: dict[t.Nominal, tuple[int, str]] = {}
        self._trait_count: Counter[str] = Counter()  # how many types of the image have a name

    def constant(self, kind: int, value: Any) -> int:
        key = f"{kind}:{type(value).__name__}:{value!r}"
        if key not in self._constant_index:
            self._constant_index[key] = len(self.constants)
            self.constants.append((kind, value))
        return self._constant_index[key]

    def string(self, text: str) -> int:
        return self.constant(im.K_STRING, text)

    def method(self, name: str, argc: int, names: list[str]) -> int:
        return self.constant(im.K_METHOD, [name, argc, *names])

    def builtin(self, receiver: str, name: str) -> int:
        return self.constant(im.K_BUILTIN, [receiver, name])

    def error(self, family: str, variant: str | None, fields: list[str]) -> int:
        return self.constant(im.K_ERROR, [family, variant, *fields])

    def reserve_function(self) -> int:
        """A function number before the function exists, so that calls may name it."""
        self.functions.append(None)
        return len(self.functions) - 1

    # ------------------------------------------------------------ types

    def type(self, type_: t.Type) -> int:
        """Index of the descriptor of a type; type parameters and open types are Any at run time (L-3.1.22)."""
        if isinstance(type_, t.Nominal) and type_.kind == "trait":
            return self.trait(type_)[0]
        if isinstance(type_, t.Nominal):
            type_ = _ANY if type_.kind == "parameter" else _HANDLES.get(type_.kind) or type_.bare
        key: Any = ("declared", type_.kind, type_.unique_name) if isinstance(type_, t.Nominal) else type_
        if key in self._type_index:
            return self._type_index[key]
        if isinstance(type_, t.Nominal) and type_ in self.declared:
            return self._declared(key, type_)
        entry = self._entry(type_)
        return self._add(key, entry)

    def _add(self, key: Any, entry: Any) -> int:
        self._type_index[key] = len(self.types)
        self.types.append(entry)
        return self._type_index[key]

    def _declared(self, key: Any, type_: t.Nominal) -> int:
        # the index comes first: fields may mention the type itself
        entry: list[Any] = [type_.kind, type_.unique_name, []]
        index = self._add(key, entry)
        for name, held, *rest in self.declared[type_]:
            if type_.kind == "enum":
                entry[2].append([name, [self.type(item) for item in held], *rest[0]])
            else:
                entry[2].append([name, self.type(held), *rest])
        return index

    def name_defaults(self, type_: t.Nominal, functions: dict[int, int]) -> None:
        """The functions that give the defaults of the fields, by position, if the image has the type at all."""
        key = ("declared", type_.kind, type_.unique_name)
        if key in self._type_index:
            rows = self.types[self._type_index[key]][2]
            for position, function in functions.items():
                rows[position].insert(3, function)

    def trait(self, type_: t.Nominal) -> tuple[int, str]:
        """Index and name of a trait type. Type arguments choose among its impls, so a part of them is an entry of its own; a type
        parameter may be any of them."""
        known = self._trait_types.get(type_)
        if known is not None:
            return known
        bare = type_.of(tuple(map(_at_run_time, type_.arguments))) if type_.arguments else type_
        made_for = type_.facts.implementations
        suiting = [made for made in made_for.offered(None, bare.arguments) if could_be(made, bare)]
        key = ("trait", type_.unique_name, *(str(made_for.numbers[made]) for made in suiting))
        if key not in self._traits:
            number = self._trait_count[type_.unique_name]
            self._trait_count[type_.unique_name] += 1
            name = f"{type_.unique_name}#{number + 1}" if number else type_.unique_name
            self._traits[key] = name
            entry: list[Any] = ["trait", name, []]
            self._add(key, entry)
            entry[2].extend([self._implementing(made.target), self.implementations[made]] for made in suiting)
        self._trait_types[type_] = self._type_index[key], self._traits[key]
        return self._trait_types[type_]

    def _implementing(self, target: t.Type) -> int:
        if not isinstance(target, t.Nominal) or target.kind not in _HANDLES:
            return self.type(erased(target))
        key = (target.kind, target.unique_name)
        return self._type_index[key] if key in self._type_index else self._add(key, ["handle", self.handles[target]])

    def error_types(self, types: list[t.Nominal]) -> int:
        """The declared types that are errors."""
        return self._add("errors", ["errors", [self.type(type_) for type_ in types]])

    def _entry(self, type_: t.Type) -> list[Any]:
        if isinstance(type_, t.Simple):
            return _SIMPLE.get(type_.name) or ["handle", "ModelBuilder" if type_ == t.AGENT_BUILDER else type_.name]
        if isinstance(type_, t.Generic):
            if type_.name.lower() in ("array", "map", "option", "result", "set", "queue", "stack"):
                return [type_.name.lower(), *(self.type(a) for a in type_.arguments)]
            if type_.name == "Memory":
                return _SIMPLE["Memory"]
            return ["handle", type_.name]
        if isinstance(type_, t.Tuple):
            return ["tuple", [self.type(item) for item in type_.items]]
        if isinstance(type_, t.Nilable):
            return ["nilable", self.type(type_.inner)]
        if isinstance(type_, t.Function):
            return ["fn", [self.type(p) for p in type_.parameters], self.type(type_.result)]
        if isinstance(type_, t.Union):
            return ["union", list(type_.members)]
        if isinstance(type_, t.Nominal):
            return ["prompt"] if type_ == t.PROMPT else [type_.kind, type_.name]
        return ["any"]


def could_be(made: t.Implementation, trait: t.Nominal) -> bool:
    """Whether an impl may be meant where the trait has these type arguments."""
    return all(matched(own, wanted, {}, made.parameters) for own, wanted in zip(made.arguments, trait.arguments, strict=False))


def _at_run_time(type_: t.Type) -> t.Type:
    """A type argument with its type parameters as Any."""
    match type_:
        case t.Nominal(kind="parameter"):
            return _ANY
        case t.Nominal():
            return type_.of(tuple(map(_at_run_time, type_.arguments))) if type_.arguments else type_
        case t.Generic():
            return t.Generic(type_.name, tuple(map(_at_run_time, type_.arguments)))
    return type_


def erased(type_: t.Type) -> t.Type:
    """What is left of the target of an impl at run time (L-3.1.22)."""
    match type_:
        case t.Generic():
            return t.Generic(type_.name, (_ANY,) * len(type_.arguments))
        case t.Tuple():
            return t.Tuple((_ANY,) * len(type_.items))
        case t.Function():
            return t.Function((), _ANY)
    return type_


_ANY = t.ANY
_HANDLES = {"model": t.MODEL_REF, "tool": t.TOOL_REF}  # what declarations with a type of their own are at run time
_SIMPLE: dict[str, list[Any]] = {
    "Int": ["int"], "Float": ["float"], "String": ["string"], "Bool": ["bool"], "Nil": ["nil"], "Any": ["any"],
    "Range": ["range"], "Bytes": ["bytes"], "never": ["any"], "Memory": ["handle", "MemoryRef"],
}  # fmt: skip
