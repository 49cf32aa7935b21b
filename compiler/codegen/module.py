"""The image under construction: its constants, types and functions with their numbers, and the tables that all function
generators share.

Hands on to the generators, `program` and `schemas` `Module` and in it the `Pool`, to `functions` `Pending`, to `calls`
`trait_site`. A number stands for a table entry from the moment it is given out, so that code may name what is generated later.
The hidden functions that stand for methods, constructors and built-ins used as values are made here. Expressions are not known
here, and nothing that a program may do wrong is found: AssertionError is a fault of a generator, and only a type that nests too
deeply raises RecursionError. A new form of type in the image is a case of `Pool._entry` and of what reads descriptors:
`vm/bytecode/shape.py`, `vm/bytecode/verify_tables.py`, `vm/values/casts.py` and `vm/values/types.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ...vm.builtins import Row
from ...vm.builtins.modules import methods_named
from ...vm.bytecode import image as im
from .. import symbols
from .. import types as t
from ..checker.relations import matched
from ..declaration_kinds import KINDS
from ..source import Source, Span
from ..syntax.ast import Nesting
from .emitter import Emitter, Label
from .moves import move_values

Params = list[list[int | str | None]]
"""The parameters of a function of the image: [name, index of the type, number of the function of the default or None]."""


class Pool:
    """Constants and types, each entry once, and the functions by number. Every public method that returns an int returns an
    index, from 0: of the types (`type`, `error_types`, `questions`, `offers`), of the functions (`reserve_function`), else of
    the constants."""

    def __init__(self) -> None:
        self.constants: list[tuple[int, Any]] = []
        self._constant_index: dict[str, int] = {}
        self.types: list[Any] = []
        self._type_index: dict[Any, int] = {}
        self.functions: list[im.Function | None] = []
        # By declared type its rows: of a struct (name, type, whether it is public, the earlier name if there is one), by field;
        # of an enum (name, types of the payload, names of the fields), by variant.
        self.declared: dict[t.Nominal, list[Any]] = {}
        self.implementations: dict[t.Implementation, list[int]] = {}  # the functions behind each impl of a trait
        self.handles: dict[t.Type, str] = {}  # what the handles of models and tools with impls are called
        self._traits: dict[tuple[str, ...], str] = {}
        self._trait_types: dict[t.Nominal, tuple[int, str]] = {}
        self._trait_count: Counter[str] = Counter()  # how many types of the image have a name

    def constant(self, kind: int, value: Any) -> int:
        """Return the index of a constant of this kind (`im.K_…`), adding it if it is new. 1, 1.0 and True are three
        constants, though they are equal in Python."""
        key = f"{kind}:{type(value).__name__}:{value!r}"
        if key not in self._constant_index:
            self._constant_index[key] = len(self.constants)
            self.constants.append((kind, value))
        return self._constant_index[key]

    def string(self, text: str) -> int:
        """Return the index of a constant String."""
        return self.constant(im.K_STRING, text)

    def method(self, name: str, argc: int, names: list[str]) -> int:
        """Return the constant by which a method is called with `argc` arguments, the last of them by these names."""
        return self.constant(im.K_METHOD, [name, argc, *names])

    def builtin(self, receiver: str, name: str) -> int:
        """Return the constant that names a built-in function of a kind of receiver."""
        return self.constant(im.K_BUILTIN, [receiver, name])

    def named_builtin(self, constant: int) -> tuple[str, str]:
        """Return the kind of receiver, "" for a global function, and the name of the built-in that a constant names."""
        receiver, name = self.constants[constant][1]
        return receiver, name

    def error(self, family: str, variant: str | None, fields: list[str]) -> int:
        """Return the constant for an error of a family, or of its variant, with these fields."""
        return self.constant(im.K_ERROR, [family, variant, *fields])

    def reserve_function(self) -> int:
        """Return a function number before the function exists, so that calls may name it."""
        self.functions.append(None)
        return len(self.functions) - 1

    # ------------------------------------------------------------ types

    def type(self, type_: t.Type) -> int:
        """Return the index of the descriptor of a type. Type parameters and open types are Any at run time (L-3.1.22)."""
        if isinstance(type_, t.Nominal) and type_.kind == "trait":
            return self.trait(type_)[0]
        if isinstance(type_, t.Nominal):
            # Models and tools with methods of their own are plain handles at run time.
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
        for name, contents, *rest in self.declared[type_]:
            if type_.kind == "enum":
                entry[2].append([name, [self.type(item) for item in contents], *rest[0]])
            else:
                entry[2].append([name, self.type(contents), *rest])
        return index

    def name_defaults(self, type_: t.Nominal, functions: dict[int, int]) -> None:
        """Add the functions of the defaults of fields, by position, to the rows of a type, if the image has the type at all. To
        be called once for each type."""
        key = ("declared", type_.kind, type_.unique_name)
        if key in self._type_index:
            rows = self.types[self._type_index[key]][2]
            for position, function in functions.items():
                rows[position].insert(3, function)

    def trait(self, type_: t.Nominal) -> tuple[int, str]:
        """Return index and name of a trait type. Type arguments choose among its impls, so each choice of impls is an entry
        of its own; a type parameter may be any of them."""
        index_and_name = self._trait_types.get(type_)
        if index_and_name is not None:
            return index_and_name
        bare = type_.of(tuple(map(_at_run_time, type_.arguments))) if type_.arguments else type_
        implementations = type_.facts.implementations
        candidates = [impl for impl in implementations.offered(None, bare.arguments) if could_be(impl, bare)]
        key = ("trait", type_.unique_name, *(str(implementations.numbers[impl]) for impl in candidates))
        if key not in self._traits:
            number = self._trait_count[type_.unique_name]
            self._trait_count[type_.unique_name] += 1
            name = f"{type_.unique_name}#{number + 1}" if number else type_.unique_name
            self._traits[key] = name
            # As with declared types the index comes first: an impl may mention the trait.
            entry: list[Any] = ["trait", name, []]
            self._add(key, entry)
            entry[2].extend([self._implementing(impl.target), self.implementations[impl]] for impl in candidates)
        self._trait_types[type_] = self._type_index[key], self._traits[key]
        return self._trait_types[type_]

    def _implementing(self, target: t.Type) -> int:
        if not isinstance(target, t.Nominal) or target.kind not in _HANDLES:
            return self.type(_erased(target))
        key = (target.kind, target.unique_name)
        return self._type_index[key] if key in self._type_index else self._add(key, ["handle", self.handles[target]])

    def error_types(self, types: list[t.Nominal]) -> int:
        """Add the entry that lists the declared types that are errors; return its index. To be called once."""
        return self._add("errors", ["errors", [self.type(type_) for type_ in types]])

    def questions(self, kind: str, numbers: list[int]) -> int:
        """Add the entry that lists functions by number: those that are channels (`kind` "channels") or by models ("by_model",
        V-3.10); return its index. To be called once for each kind."""
        return self._add(kind, [kind, numbers])

    def offers(self, functions: list[list[Any]], models: list[list[Any]]) -> int:
        """Add the entry that describes public functions and models, each [number, doc comment] (V-3.11); return its index. To be
        called once."""
        return self._add("offers", ["offers", functions, models])

    def _entry(self, type_: t.Type) -> list[Any]:
        if isinstance(type_, t.Simple):
            return _SIMPLE.get(type_.name) or ["handle", "ModelBuilder" if type_ == t.AGENT_BUILDER else type_.name]
        if isinstance(type_, t.Generic):
            if type_.name.lower() in ("array", "map", "option", "result", "set", "queue", "stack"):
                return [type_.name.lower(), *(self.type(a) for a in type_.arguments)]
            if type_.name == "Memory":
                return _SIMPLE["Memory"]
            if type_.name == t.HOST_STREAM:
                return ["handle", "Stream"]
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


def could_be(impl: t.Implementation, trait: t.Nominal) -> bool:
    """Return whether an impl may be meant where the type is `trait` with its type arguments."""
    return all(matched(own, other, {}, impl.parameters) for own, other in zip(impl.arguments, trait.arguments, strict=False))


def _at_run_time(type_: t.Type) -> t.Type:
    """Return a type argument with its type parameters as Any."""
    match type_:
        case t.Nominal(kind="parameter"):
            return _ANY
        case t.Nominal():
            return type_.of(tuple(map(_at_run_time, type_.arguments))) if type_.arguments else type_
        case t.Generic():
            return t.Generic(type_.name, tuple(map(_at_run_time, type_.arguments)))
    return type_


def _erased(type_: t.Type) -> t.Type:
    """Return the target of an impl as values have it at run time: the type arguments of generic types, the items of tuples and
    the parameters of functions are Any (L-3.1.22)."""
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


# Global functions that are instructions.
INSTRUCTIONS = {"print": "PRINT", "println": "PRINTLN", "emit": "EMIT", "flush_emits": "FLUSH"}


@dataclass(eq=False)
class Pending:
    """A generated function that waits for the cell numbers of its parents. The fields are the arguments of `Emitter.finish`;
    `number` is that of the function, `file` the one that its code stands in, "" for what the compiler adds."""

    number: int
    emitter: Emitter
    parent: Emitter | None
    name: str
    params: Params
    result: int
    flags: int
    file: str = ""


CONSTANT_PARTS = 200_000  # parts of constants that code may push, beside 2 for each character of the program


@dataclass(eq=False)
class Module:
    """What the generators of one image share. A number of a function is its index in the functions of the image; methods that
    "return a function" return that number."""

    sources: list[Source]
    pool: Pool = field(default_factory=Pool)
    pending: list[Pending] = field(default_factory=list)  # whose code is there; `finish_functions` ends them
    functions: dict[symbols.FunctionSymbol, int] = field(default_factory=dict)  # their numbers
    methods: dict[str, list[symbols.FunctionSymbol]] = field(default_factory=dict)  # those of the program with `self`, by name
    # By index of a parameter, the number of the function that computes its default from the arguments before it.
    defaults: dict[symbols.FunctionSymbol, dict[int, int]] = field(default_factory=dict)
    # Methods with such defaults, by their name and that of a parameter; "" for each method.
    optional: dict[tuple[str, str], list[symbols.FunctionSymbol]] = field(default_factory=dict)
    # Methods with the names of the arguments at hand, for which `partial_functions` has made a function; and the calls for which
    # it has looked at all methods, as its arguments.
    partial: set[tuple[symbols.FunctionSymbol, frozenset[str]]] = field(default_factory=set)
    partial_calls: set[tuple[str, int, tuple[str, ...]]] = field(default_factory=set)
    # By index of a field, the number of the function that computes its default.
    field_defaults: dict[symbols.StructSymbol | symbols.VariantSymbol, dict[int, int]] = field(default_factory=dict)
    changing_methods: set[str] = field(default_factory=set)  # names of methods with `mut self`
    has_stored_hashmaps: bool = False  # one whose entries are in a store: a method of any handle may have to wait
    method_values: dict[symbols.FunctionSymbol, int] = field(default_factory=dict)  # functions that stand for methods as values
    language_methods: dict[tuple[str, str], int] = field(default_factory=dict)  # functions, by receiver and name
    # Functions that stand for constructors and built-ins as values, by opcode or `RECEIVER::NAME`.
    hidden_functions: dict[str, int] = field(default_factory=dict)
    variant_functions: dict[symbols.VariantSymbol, int] = field(default_factory=dict)  # functions that stand for tuple variants
    # Permissions that calls will ask for, with the file of the code that asks (O-10.21).
    wanted_permissions: set[tuple[str, str]] = field(default_factory=set)
    # Methods written in the language whose bodies are to be generated, by receiver and name, in the order of the requests.
    requested_methods: list[tuple[str, str]] = field(default_factory=list)
    of_result: bool = False  # a method of Result is being generated: its `Err(e)` has come the way of `self`, which is slot 0
    externs: dict[symbols.FunctionSymbol, int] = field(default_factory=dict)  # functions of Python: their entries in the image
    numbers: dict[symbols.Symbol, int] = field(default_factory=dict)  # of declarations, within their section of the image
    validators: dict[symbols.StructSymbol, list[int]] = field(default_factory=dict)  # functions, in order (O-2.18)
    computed: dict[symbols.ModelSymbol, int] = field(default_factory=dict)  # functions of fields that are no constants
    slot_defaults: dict[symbols.Slot, int] = field(default_factory=dict)  # functions
    schemas: dict[t.Type, int] = field(default_factory=dict)  # numbers of entries, by types with their type arguments
    schema_entries: list[im.Schema] = field(default_factory=list)
    schema_names: dict[str, int] = field(default_factory=dict)  # names of the entries, with the last number that stood behind one
    declared: dict[t.Type, symbols.Symbol] = field(default_factory=dict)  # by types without type arguments
    traits: dict[str, dict[symbols.TraitSymbol, None]] = field(default_factory=dict)  # with impls, by the names of their methods
    trait_names: set[str] = field(default_factory=set)  # names of methods of which `all_trait_methods` has added the tables
    names: dict[symbols.Symbol, str] = field(default_factory=dict)  # what the image calls declarations
    nesting: Nesting = field(default_factory=Nesting)  # levels of the walk over trees, which may be deeper than Python's stack
    constant_parts: int = 0  # parts of constants that code has pushed
    most_constant_parts: int = 0  # how many it may push (G-5.10)

    def __post_init__(self) -> None:
        self.most_constant_parts = CONSTANT_PARTS + 2 * sum([len(source.text) for source in self.sources])
        self._files = {source.name: (number, source) for number, source in enumerate(self.sources)}

    def place(self, span: Span) -> tuple[int, int, int]:
        """Return the file number from 0, and line and column from 1, of a span's start, for tables of the image; (0, 1, 1) for a
        place in the library."""
        if span.file not in self._files:  # the library: its frames are hidden
            return 0, 1, 1
        number, source = self._files[span.file]
        return number, *source.position(span.start)

    def language_method(self, receiver: str, name: str) -> int:
        """Return the number of a built-in method that is written in the language, `name` of the kind of receiver `receiver`; its
        body is generated when all others are (`generate_requested`)."""
        key = (receiver, name)
        if key not in self.language_methods:
            self.language_methods[key] = self.pool.reserve_function()
            self.requested_methods.append(key)
        return self.language_methods[key]

    def all_language_methods(self, name: str) -> None:
        """Request every method of this name that is written in the language and not *mut*, since a call whose target is found at
        run time may meet any receiver."""
        for receiver, row in methods_named(name):
            # *mut* methods are handled where they are called, since their receiver has to be stored back.
            if row.source and not row.mut:
                self.language_method(receiver, name)

    def all_trait_methods(self, name: str) -> None:
        """Add the tables of all traits with a method of this name, for the same reason."""
        if name in self.trait_names:
            return
        self.trait_names.add(name)
        for trait in self.traits.get(name, ()):
            assert isinstance(trait.type, t.Nominal)
            self.pool.trait(trait.type.of((t.ANY,) * len(trait.type_parameters)))

    def variant(self, symbol: symbols.VariantSymbol) -> int:
        """Return the index of the constant that names a variant."""
        return self.pool.constant(im.K_VARIANT, [self.pool.type(symbol.enum.type), symbol.index])

    def variant_function(self, symbol: symbols.VariantSymbol) -> int:
        """Return a tuple variant as a function of its parts (L-3.8.3)."""
        if symbol not in self.variant_functions:
            emitter = Emitter()
            for position in range(len(symbol.fields)):
                emitter.slot()
                emitter.emit("LOAD", position)
            emitter.emit("VARIANT", self.variant(symbol), len(symbol.fields))
            emitter.emit("RETURN")
            number = self.variant_functions[symbol] = self.pool.reserve_function()
            params: Params = [[f"part{n}", self.pool.type(f[1]), None] for n, f in enumerate(symbol.fields)]
            result = self.pool.type(symbol.enum.type)
            name = f"{symbol.enum.name}::{symbol.name}"
            self.pending.append(Pending(number, emitter, None, name, params, result, 0))
        return self.variant_functions[symbol]

    def function_value(self, symbol: symbols.FunctionSymbol) -> int:
        """Return the function behind a name that is not called. The change that a method with `mut self` makes is lost with
        the argument."""
        if not symbol.changes_self:
            return self.functions[symbol]
        if symbol not in self.method_values:
            emitter = Emitter()
            for _ in symbol.parameters:
                emitter.emit("LOAD", emitter.slot())
            emitter.emit("CALL", self.functions[symbol], len(symbol.parameters))
            emitter.emit("GET_ELEMENT", 0)
            emitter.emit("RETURN")
            number = self.method_values[symbol] = self.pool.reserve_function()
            parameters = zip(symbol.declaration.parameters, symbol.parameters, strict=True)
            params: Params = [[p.name.text, self.pool.type(type_), None] for p, type_ in parameters]
            self.pending.append(Pending(number, emitter, None, symbol.path, params, self.pool.type(symbol.result), im.F_HIDDEN))
        return self.method_values[symbol]

    def handle_of(self, declared: symbols.Symbol) -> tuple[str, int]:
        """Return opcode and operand of the instruction that pushes the handle of a declaration of `KINDS`, the value that stands
        for it at run time."""
        return KINDS[type(declared)].opcode, self.numbers[declared]

    def tool_function(self, symbol: symbols.FunctionSymbol, tool: symbols.ToolSymbol | symbols.McpSymbol) -> int:
        """Return `T::m` as a function: it calls the method of the tool, which the host runs with the state (O-4.6)."""
        if symbol not in self.method_values:
            parameters = [p for p in zip(symbol.declaration.parameters, symbol.parameters, strict=True) if not p[0].is_self]
            emitter = Emitter()
            slots = [emitter.slot() for _ in parameters]
            emitter.emit(*self.handle_of(tool))
            for slot in slots:
                emitter.emit("LOAD", slot)
            emitter.emit("CALL_METHOD", self.pool.method(symbol.name, len(parameters), []), len(parameters))
            emitter.emit("RETURN")
            number = self.method_values[symbol] = self.pool.reserve_function()
            params: Params = [[p.name.text, self.pool.type(type_), None] for p, type_ in parameters]
            self.pending.append(Pending(number, emitter, None, symbol.path, params, self.pool.type(symbol.result), im.F_HIDDEN))
        return self.method_values[symbol]

    def trait_function(self, trait: symbols.TraitSymbol, symbol: symbols.FunctionSymbol) -> int:
        """Return `X::m` as a function of any value that implements X. The change of `mut self` is lost with the argument."""
        if symbol not in self.method_values:
            emitter = Emitter()
            for _ in symbol.parameters:
                emitter.emit("LOAD", emitter.slot())
            assert isinstance(trait.type, t.Nominal)
            method = trait_site(self, trait.type, symbol)
            emitter.emit("CALL_INOUT" if symbol.changes_self else "CALL_METHOD", method, len(symbol.parameters) - 1)
            if symbol.changes_self:
                emitter.emit("GET_ELEMENT", 0)
            emitter.emit("RETURN")
            number = self.method_values[symbol] = self.pool.reserve_function()
            parameters = zip(symbol.declaration.parameters, symbol.parameters, strict=True)
            params: Params = [[p.name.text, self.pool.type(type_), None] for p, type_ in parameters]
            self.pending.append(Pending(number, emitter, None, symbol.path, params, self.pool.type(symbol.result), im.F_HIDDEN))
        return self.method_values[symbol]

    def constructor_function(self, opcode: str) -> int:
        """Return `Some`, `Ok` or `Err` as a function of one parameter, by its opcode, SOME, OK or ERR."""
        if opcode not in self.hidden_functions:
            emitter = Emitter()
            emitter.slot()
            emitter.emit("LOAD", 0)
            emitter.emit(opcode)
            emitter.emit("RETURN")
            self._pend(opcode, opcode.capitalize(), ["value"], emitter)
        return self.hidden_functions[opcode]

    def partial_functions(self, name: str, count: int, names: list[str]) -> None:
        """Give each method of that name that a call fits when defaults are left out a hidden function `T::name::givenN` of the
        arguments at hand, which supplies the others: the method of such a call is found at run time (L-3.7.1, L-3.8.1). `count`
        arguments are passed, the last of them by these names. To be called when all functions are declared."""
        call = (name, count, tuple(names))
        if call in self.partial_calls:
            return
        self.partial_calls.add(call)
        lists = [self.optional.get((name, parameter), []) for parameter in names or [""]]
        for method in min(lists, key=len):
            parameters = [p.name.text for p in method.declaration.parameters][1:]
            positional = parameters[: count - len(names)]
            at_hand = {*positional, *names}
            missing = [p for p in parameters if p not in at_hand]
            optional = {parameters[index - 1] for index in self.defaults[method]}
            # A name that is passed twice, or that the method does not have, fits no method.
            fits = len(at_hand) == count and at_hand <= set(parameters)
            if fits and missing and optional.issuperset(missing) and (method, frozenset(at_hand)) not in self.partial:
                self.partial.add((method, frozenset(at_hand)))
                self._partial(method, [n for n, p in enumerate(parameters, 1) if p in at_hand])

    def _partial(self, method: symbols.FunctionSymbol, indexes: list[int]) -> None:
        emitter = Emitter()
        slots = {index: emitter.slot() for index in (0, *indexes)}
        for index in range(len(method.parameters)):
            if index not in slots:
                for earlier in range(index):
                    emitter.emit("LOAD", slots[earlier])
                emitter.emit("CALL", self.defaults[method][index], index)
                slots[index] = emitter.slot()
                emitter.emit("STORE", slots[index])
        for index in range(len(method.parameters)):
            emitter.emit("LOAD", slots[index])
        emitter.emit("CALL", self.functions[method], len(method.parameters))
        emitter.emit("RETURN")
        number = self.pool.reserve_function()
        any_ = self.pool.type(t.ANY)
        declared = method.declaration.parameters
        params: Params = [[declared[i].name.text, any_, None] for i in (0, *indexes)]
        name = f"{method.path}::given{len(self.partial)}"
        self.pending.append(Pending(number, emitter, None, name, params, any_, im.F_HIDDEN | im.F_METHOD))

    def _pend(self, key: str, name: str, parameters: list[str], emitter: Emitter) -> None:
        """Keep a hidden function of Anys under `key`."""
        number = self.hidden_functions[key] = self.pool.reserve_function()
        any_ = self.pool.type(t.ANY)
        params: Params = [[parameter, any_, None] for parameter in parameters]
        self.pending.append(Pending(number, emitter, None, name, params, any_, im.F_HIDDEN))

    def row_function(self, receiver: str, row: Row, file: str) -> int:
        """Return a global function, `T::name` or one of the module `std::…` as a function value that takes all arguments by
        position; of `print` one argument (L-3.8.3). `receiver` is "" for a global function, else T, or `std::` and the name of
        the module; `file` is the one that names it."""
        name = f"{receiver}::{row.name}"
        if row.kind == "effect":
            # The permission is wanted as soon as the function is a value, since nobody can tell whether it is called.
            self.wanted_permissions.add((row.permission, file))
        if name not in self.hidden_functions:
            emitter = Emitter()
            for _ in row.parameters:
                emitter.emit("LOAD", emitter.slot())
            if not receiver and row.name in INSTRUCTIONS:
                emitter.emit(INSTRUCTIONS[row.name], len(row.parameters), len(row.parameters))
                emitter.emit("NIL")
            elif row.source:
                emitter.emit("CALL", self.language_method(receiver, row.name), len(row.parameters))
            elif not receiver and row.name == "len" and not row.module:
                self.length_of_any(emitter)
            else:
                opcode = "CALL_HOST" if row.kind == "effect" else "CALL_BUILTIN"
                emitter.emit(opcode, self.pool.builtin(receiver, row.name), len(row.parameters))
            emitter.emit("RETURN")
            self._pend(name, row.name, [p.name for p in row.parameters], emitter)
        return self.hidden_functions[name]

    def prompt_from_text(self, emitter: Emitter) -> None:
        """Append the conversion of a String to a Prompt (L-3.3.7)."""
        emitter.emit("CALL_BUILTIN", self.pool.builtin("Prompt", "new"), 1)

    def length_of_any(self, emitter: Emitter) -> None:
        """Append the length of a value of any kind (L-6.1.2): of a store its method, which may have to wait for the host."""
        end = Label()
        depth = emitter.depth
        for store in t.MEASURED.values():
            other = Label()
            emitter.emit("DUP")
            emitter.emit("IS", self.pool.type(store))
            emitter.jump("JUMP_UNLESS", other)
            emitter.emit("CALL_METHOD", self.pool.method("len", 0, []), 0)
            emitter.jump("JUMP", end)
            emitter.mark(other, depth)
        emitter.emit("CALL_BUILTIN", self.pool.builtin("", "len"), 1)
        emitter.mark(end, depth)

    def finish_functions(self) -> list[im.Function]:
        """Return all functions in the order of their numbers. To be called once, when every reserved function is pending."""
        move_values({p.number: (p.emitter, len(p.params)) for p in self.pending}, self.pool.named_builtin)
        for p in self.pending:
            self.pool.functions[p.number] = p.emitter.finish(p.name, p.params, p.result, p.flags, p.parent, self.place)
        return [f for f in self.pool.functions if f is not None]

    def local_names(self) -> list[list[list[Any]]]:
        """Return the rows of names of every function (V-3.9), once all are finished."""
        named = {p.number: p.emitter.name_rows for p in self.pending}
        return [named[number] for number, f in enumerate(self.pool.functions) if f is not None]


def trait_site(module: Module, trait: t.Nominal, symbol: symbols.FunctionSymbol) -> int:
    """Return the index of the constant by which a method of a trait is called; arguments stand in the order of its parameters."""
    _, name = module.pool.trait(trait)
    return module.pool.method(f"{name}::{symbol.name}", len(symbol.parameters) - 1, [])
