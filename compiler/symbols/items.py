"""Functions, impls, traits, and the declarations that make types and constants. Must not know: scopes."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import ast
from ..types import Type
from .names import Symbol, TypeParameterSymbol


@dataclass(slots=True)
class TestInfo:
    """What the decorators of a test say (O-8.1, O-8.2): `part` must be in the text of an expected failure; `cases`: of each case
    its text and the arguments that it calls the function with, None for a test without parameters."""

    description: str
    expect_fail: bool
    part: str | None
    cases: list[tuple[str, list[ast.Expr]]] | None = None


@dataclass(eq=False, slots=True)
class FunctionSymbol(Symbol):
    """A function, associated function or method; `parameters` include `self`. `owner` is the impl or trait it stands in."""

    declaration: ast.Function
    parameters: list[Type]
    result: Type
    owner: ImplSymbol | TraitSymbol | None = None
    tool: Symbol | None = None  # the tool or MCP server it is a method of
    type_parameters: list[TypeParameterSymbol] = field(default_factory=list)
    test: TestInfo | None = None

    @property
    def is_test(self) -> bool:
        return any(decorator.name.text == "test" for decorator in self.declaration.decorators)

    @property
    def all_type_parameters(self) -> list[TypeParameterSymbol]:
        """Those of its impl or trait, then its own."""
        return self.type_parameters if self.owner is None else [*self.owner.inside, *self.type_parameters]

    @property
    def takes_self(self) -> bool:
        return bool(self.declaration.parameters) and self.declaration.parameters[0].is_self

    @property
    def changes_self(self) -> bool:
        """Whether it is declared with `mut self`: it then gives its result and the new `self`."""
        parameters = self.declaration.parameters
        return bool(parameters) and parameters[0].is_self and parameters[0].mutable

    @property
    def path(self) -> str:
        """Its name with that of its type, as messages, stack traces and images have it."""
        return self.name if self.owner is None else f"{self.owner.path}::{self.name}"


@dataclass(eq=False, slots=True)
class ImplSymbol(Symbol):
    """`impl T { … }` or `impl X for T { … }`; the name is that of `head`, what T names without its arguments. `trait`: what X
    names, a TraitSymbol or the family `Error`."""

    declaration: ast.Impl
    head: Symbol | None
    target: Type
    trait: Symbol | None = None
    methods: list[FunctionSymbol] = field(default_factory=list)
    type_parameters: list[TypeParameterSymbol] = field(default_factory=list)

    @property
    def inside(self) -> list[TypeParameterSymbol]:
        """The type parameters that its methods see."""
        return self.type_parameters

    @property
    def path(self) -> str:
        return self.name if self.trait is None else f"{self.name}::{self.trait.name}"

    def method(self, name: str) -> FunctionSymbol | None:
        return next((method for method in self.methods if method.name == name), None)


@dataclass(eq=False, slots=True)
class TraitSymbol(Symbol):
    """`trait X { … }`; inside, `Self` is a type parameter like those of X (L-3.1.17)."""

    declaration: ast.Trait
    type: Type
    self_parameter: TypeParameterSymbol
    methods: dict[str, FunctionSymbol] = field(default_factory=dict)
    type_parameters: list[TypeParameterSymbol] = field(default_factory=list)

    @property
    def inside(self) -> list[TypeParameterSymbol]:
        return [self.self_parameter, *self.type_parameters]

    @property
    def target(self) -> Type:
        return self.self_parameter.type

    @property
    def path(self) -> str:
        return self.name


@dataclass(eq=False, slots=True)
class TraitItemSymbol(Symbol):
    """A method of a trait as a path names it: `X::m` (`trait`), `T::m` (`impls`: those of T whose traits have it) or `T::X::m`
    (both). Without a name: the `T::X` before `::m`."""

    trait: TraitSymbol | None
    impls: list[ImplSymbol] = field(default_factory=list)
    of_type: bool = False  # whether a T is named


@dataclass(eq=False, slots=True)
class StructSymbol(Symbol):
    """A struct or schema; `fields` in declaration order as (name, type, default or None, optional). Of schemas: the modes
    of O-2.14 ff., the description of each field that has one (O-2.13), all its forms with their decorators, in source order,
    and the validators these add (O-2.18); of schemas and the structs in them: the values of their defaults."""

    declaration: ast.Struct | ast.Schema
    type: Type
    fields: list[tuple[str, Type, ast.Expr | None, bool]]
    partial: bool = False
    coerce: bool = False
    descriptions: dict[str, str] = field(default_factory=dict)
    forms: list[ast.Schema] = field(default_factory=list)
    validators: list[ast.Expr] = field(default_factory=list)
    was: dict[str, str] = field(default_factory=dict)  # names before, by field
    constants: dict[str, object] = field(default_factory=dict)
    type_parameters: list[TypeParameterSymbol] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class EnumSymbol(Symbol):
    """`members` are the variants named by `variants`, in the same order."""

    declaration: ast.Enum
    type: Type
    variants: list[str]
    members: list[VariantSymbol] = field(default_factory=list)
    type_parameters: list[TypeParameterSymbol] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class VariantSymbol(Symbol):
    """`E::V`; also the None of Option is written as a plain path and bound to BuiltinSymbol("None"). `form` is unit, tuple or
    struct; `fields` are the parts of the payload as in StructSymbol, those of a tuple variant named by their numbers."""

    enum: EnumSymbol
    index: int
    form: str = "unit"
    fields: list[tuple[str, Type, ast.Expr | None, bool]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class ConstSymbol(Symbol):
    """`value`: the folded constant as plain Python data (int, float, str, bool, None, list, dict, tuple; a ConstStruct or a
    VariantSymbol for struct and enum values)."""

    declaration: ast.Const
    type: Type
    value: object = None


@dataclass(slots=True)
class ConstStruct:
    """A folded struct value: its fields in declaration order."""

    struct: StructSymbol
    values: list[object]


@dataclass(slots=True)
class ConstVariant:
    """A folded enum value with a payload."""

    variant: VariantSymbol
    values: list[object]


@dataclass(eq=False, slots=True)
class AliasSymbol(Symbol):
    declaration: ast.TypeAlias
    type: Type
    type_parameters: list[TypeParameterSymbol] = field(default_factory=list)
