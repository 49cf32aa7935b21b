"""Stubs: what type checkers know of a program that is imported as a module (P-2.3).

Hands on `stub_of` to the verb `stubs`. The text describes the module that `python_modules` makes, by the same names, and the
values that the conversion gives and takes (`annotations.py`). Nothing is run, and no file is touched.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from ..vm.bytecode.shape import field_rows
from .annotations import annotated
from .declared_classes import DeclaredClasses
from .python_names import KEPT_BY_MODULES

_BUILTINS = ("int", "float", "str", "bool", "bytes", "bytearray", "memoryview", "list", "dict", "tuple", "property")
_TYPING = ("Any", "Literal", "Never", "NotRequired", "Protocol", "TypeAlias", "TypedDict", "Unpack", "final")
_IMPORTED = {
    "Mapping": "collections.abc", "PurePath": "pathlib", "RunOptions": "concerto.api.options",
    "Array": "concerto.api.stub_types", **dict.fromkeys(_TYPING, "typing"),
}  # fmt: skip


def stub_of(classes: DeclaredClasses, file: str) -> str:
    """Return the stub of a program; `file` is what it calls the source. Of equal programs it is equal."""
    return _Stub(classes, file).text()


class _Stub:
    """One stub. `inner` are the names that its classes have inside, which hide those of the module there; `used` are the names
    from elsewhere, by the names that they have here."""

    def __init__(self, classes: DeclaredClasses, file: str) -> None:
        self.classes = classes
        self.file = file
        self.rows = classes.program.image.types
        self.numbers = {row[1]: number for number, row in enumerate(self.rows) if row[0] in ("struct", "schema", "enum")}
        self.shown = classes.shown()
        self.inner = set(self._inner())
        self.taken = {*KEPT_BY_MODULES, "concerto", *classes.functions.values(), *classes.types.values(), *self.inner}
        self.used: dict[str, str] = {}
        self.again: dict[str, str] = {}  # declared types that are hidden inside a class, by the names they have there
        self.hidden = {key: (self._fresh(f"_{name}Fields"), self._fresh(f"_{name}Like")) for key, name in classes.types.items()}
        self.taking: dict[str, None] = {}  # keys of the types that arguments have

    def _inner(self) -> Iterator[str]:
        for key in self.shown:
            declaration = self.classes.declarations[key]
            if self._is_enum(key):
                yield from self.classes.variant_names(declaration).values()
                for variant in declaration.variants:
                    yield from self.classes.part_names(variant).values()
            else:
                yield from self.classes.field_names(declaration).values()
        yield from self.classes.functions.values()  # methods of a session's namespaces

    def _is_enum(self, key: str) -> bool:
        return bool(self.rows[self.numbers[key]][0] == "enum")

    def _fresh(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # ------------------------------------------------------------ the spelling of annotations

    def plain(self, name: str) -> str:
        return self.name(name) if name in _BUILTINS or name in _IMPORTED else name

    def name(self, name: str) -> str:
        """Return what a name from elsewhere is called here, and note that it is used."""
        if name not in self.used:
            self.used[name] = self._fresh(f"_{name}") if name in self.taken else name
        return self.used[name]

    def own(self, name: str) -> str:
        return f"concerto.{name}"

    def generic(self, name: str, *parts: str) -> str:
        return f"{self.name(name)}[{', '.join(parts)}]"

    def either(self, *parts: str) -> str:
        return " | ".join(dict.fromkeys(each for part in parts for each in _members(part)))

    def words(self, texts: list[str]) -> str:
        return f"{self.name('Literal')}[{', '.join(map(_quoted, texts))}]"

    def declared(self, kind: str, key: str, argument: bool) -> str:
        name = self.classes.types[key]
        if name in self.inner:
            if name not in self.again:
                self.again[name] = self._fresh(f"_{name}")
            name = self.again[name]
        if argument:
            self.taking[key] = None
        if kind != "enum":
            return self.either(name, *self.hidden[key]) if argument else name
        declaration = self.classes.declarations[key]
        variants = self.classes.variant_names(declaration)
        units = [variant.name for variant in declaration.variants if not variant.arity]
        taken = (self.words(units),) if argument and units else ()
        return self.either(*(f"{name}.{variant}" for variant in variants.values()), *taken) or self.name("Never")

    def annotation(self, number: int, argument: bool = False) -> str:
        text: str = annotated(self.classes, number, self, argument=argument)
        return text

    # ------------------------------------------------------------ the text

    def text(self) -> str:
        """Return the whole stub."""
        body = [*self._functions(), *self._namespaces()]
        types = [line for key in self.shown for line in self._type(key)]
        taken: list[str] = []
        written: set[str] = set()
        while missing := [key for key in self.taking if key not in written]:  # what is taken for a type may lead to others
            for key in missing:
                written.add(key)
                taken += self._taken(key)
        again = [f"{other}: {self.name('TypeAlias')} = {name}" for name, other in self.again.items()]
        lines = [*types, *taken, *again, *([""] if again else []), *body]
        return "\n".join([*self._head(), "", *lines]).rstrip("\n") + "\n"

    def _head(self) -> list[str]:
        lines = [f"# Made by `concerto stubs {self.file}`; `concerto stubs {self.file} --check` tells whether it is up to date."]
        by_module: dict[str, list[str]] = {}
        for name, here in sorted(self.used.items()):
            if name in _IMPORTED:
                by_module.setdefault(_IMPORTED[name], []).append(name if name == here else f"{name} as {here}")
            elif name != here:
                by_module.setdefault("builtins", []).append(f"{name} as {here}")
        imports = [f"from {module} import {', '.join(names)}" for module, names in by_module.items() if "concerto" not in module]
        ours = [f"from {module} import {', '.join(names)}" for module, names in by_module.items() if "concerto" in module]
        return [*lines, "", *sorted(imports), "", "import concerto", *ours]

    def _type(self, key: str) -> list[str]:
        return self._enum(key) if self._is_enum(key) else self._struct(key)

    def _struct(self, key: str) -> list[str]:
        declaration = self.classes.declarations[key]
        name, names, notes = self.classes.types[key], self.classes.field_names(declaration), self.classes.interface.type(key)
        fields = [(names[own], self.annotation(kind), optional) for own, kind, optional in self._fields(key)]
        lines = [f"@{self.name('final')}", f"class {name}:", *_doc(notes.doc, 4)]
        lines.append(f"    __match_args__ = {_tuple(names.values())}")
        head = "*, " if fields else ""
        given = ", ".join(f"{own}: {kind}{' = ...' if optional else ''}" for own, kind, optional in fields)
        lines.append(f"    def __init__(self, {head}{given}) -> None: ...".replace("(self, )", "(self)"))
        docs = [notes.parts.get(own, "") for own in names]
        lines += self._properties((python, kind, doc) for (python, kind, _), doc in zip(fields, docs, strict=True))
        changed = ", ".join(f"{own}: {kind} = ..." for own, kind, _ in fields)
        lines.append(f"    def __replace__(self, {head}{changed}) -> {name}: ...".replace("(self, )", "(self)"))
        text = self.name("str")
        lines.append(f"    def __getitem__(self, name: {text}, /) -> {self.name('Any')}: ...")
        return [*lines, ""]

    def _fields(self, key: str) -> Iterator[tuple[str, int, bool]]:
        """Yield name, type and whether it may be left out of each field."""
        for row in field_rows(self.rows[self.numbers[key]]):
            default = any(type(part) is int for part in row[3:])
            yield row[0], row[1], default or self.rows[row[1]][0] in ("option", "nilable")

    def _properties(self, rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
        for python, kind, doc in rows:
            yield f"    @{self.name('property')}"
            yield f"    def {python}(self) -> {kind}:{'' if doc else ' ...'}"
            yield from _doc(doc, 8)

    def _enum(self, key: str) -> list[str]:
        declaration = self.classes.declarations[key]
        name, notes = self.classes.types[key], self.classes.interface.type(key)
        variants = self.classes.variant_names(declaration)
        base = self.declared("struct", key, False)  # as it is called inside
        lines = [f"class {name}:", *_doc(notes.doc, 4)]
        lines.append(f"    def __init__(self, never: {self.name('Never')}) -> None: ...")
        text = self.name("str")
        lines += self._properties([("type", text, ""), ("variant", text, ""), ("data", self.name("Any"), "")])
        for variant, row in zip(declaration.variants, self.rows[self.numbers[key]][2], strict=True):
            inside = self._variant(variant, [self.annotation(kind) for kind in row[1]])
            doc = _doc(notes.parts.get(variant.name, ""), 4)
            head = [f"@{self.name('final')}", f"class {variants[variant.name]}({base}):", *doc]
            lines += [f"    {line}" if line else "" for line in (*head, *inside)]
        return [*lines, ""]

    def _variant(self, variant: Any, kinds: list[str]) -> list[str]:
        names = list(self.classes.part_names(variant).values()) or [f"_{at}" for at in range(len(kinds))]
        given = ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True))
        head = "self" if not given else f"self, {given}" if variant.fields else f"self, {given}, /"
        lines = [f"    __match_args__ = {_tuple(names)}", f"    def __init__({head}) -> None: ..."]
        lines += self._properties((name, kind, "") for name, kind in zip(names, kinds, strict=True))
        if variant.fields:
            changed = ", ".join(f"{name}: {kind} = ..." for name, kind in zip(names, kinds, strict=True))
            lines.append(f"    def __replace__(self, *, {changed}) -> {self.name('Any')}: ...")
        return lines

    def _taken(self, key: str) -> list[str]:
        """Return what is taken for a struct besides its class: a dict of its fields, an object that has them."""
        if self._is_enum(key):
            return []
        declaration = self.classes.declarations[key]
        names = self.classes.field_names(declaration)
        fields, like = self.hidden[key]
        entries, lines = [], [f"class {like}({self.name('Protocol')}):"]
        for own, kind, optional in self._fields(key):
            text = self.annotation(kind, argument=True)
            entries.append(f"{_quoted(own)}: " + (f"{self.name('NotRequired')}[{text}]" if optional else text))
            lines += [f"    @{self.name('property')}", f"    def {names[own]}(self) -> {text}: ..."]
        if not entries:
            lines[0] += " ..."
        dictionary = f"{fields} = {self.name('TypedDict')}({_quoted(fields)}, {{{', '.join(entries)}}})"
        return [dictionary, "", *lines, ""]

    def _functions(self) -> Iterator[str]:
        for path, python in self.classes.functions.items():
            notes = self.classes.interface.function(path)
            yield from self._function(path, python, "async def" if notes.is_async else "def", "", notes.doc)
        yield ""

    def _function(self, path: str, python: str, word: str, before: str, doc: str) -> list[str]:
        function = self.classes.program.image.functions[self.classes.program.image.exports.functions[path]]
        names = self.classes.parameter_names(path)
        given = [
            f"{names[own]}: {self.annotation(kind, argument=True)}{'' if default is None else ' = ...'}"
            for own, kind, default in function.params
        ]
        result = self.annotation(self.classes.result_of(path))
        indent = 4 if before else 0
        head = " " * indent + f"{word} {python}({', '.join([*([before] if before else []), *given])}) -> {result}:"
        return [head, *_doc(doc, indent + 4)] if doc else [f"{head} ..."]

    def _namespaces(self) -> Iterator[str]:
        functions, aio = self._fresh("_Functions"), self._fresh("_Aio")
        for name, word in ((functions, "def"), (aio, "async def")):
            yield f"class {name}:"
            for path, python in self.classes.functions.items():
                yield from self._function(path, python, word, "self", self.classes.interface.function(path).doc)
            if not self.classes.functions:
                yield "    ..."
            yield ""
        yield "class Session(concerto.Session):"
        for name, kind in (("functions", functions), ("aio", aio)):
            yield from self._properties([(name, kind, "")])
        yield ""
        yield f"aio: {aio}"
        yield ""
        yield f"def session(**options: {self.name('Unpack')}[{self.name('RunOptions')}]) -> Session: ..."


def _members(part: str) -> list[str]:
    """Return the members of a union, cut where no bracket or text is open."""
    members, depth, quote, start, at = [], 0, "", 0, 0
    while at < len(part):
        char = part[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[({":
            depth += 1
        elif char in "])}":
            depth -= 1
        elif part.startswith(" | ", at) and not depth:
            members.append(part[start:at])
            start = at + 3
            at += 2
        at += 1
    return [*members, part[start:]] if part else []


def _quoted(text: str) -> str:
    """Return a text as a string literal with double quotes, as the formatters of Python write it."""
    return json.dumps(text, ensure_ascii=False)


def _tuple(names: Iterable[str]) -> str:
    quoted = [_quoted(name) for name in names]
    return f"({quoted[0]},)" if len(quoted) == 1 else f"({', '.join(quoted)})"


def _doc(text: str, indent: int) -> list[str]:
    """Return a docstring."""
    if not text.strip():
        return []
    safe = text.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if safe.endswith('"'):
        safe = safe[:-1] + '\\"'
    first, *rest = safe.splitlines()
    if not rest:
        return [" " * indent + f'"""{first}"""']
    lines = textwrap.indent("\n".join([f'"""{first}', *rest, '"""']), " " * indent).splitlines()
    return [line.rstrip() for line in lines]
