"""The types of a program as models of Pydantic (P-2.4), and Pydantic's view of their classes, by which FastAPI takes and gives
them.

Hands on `pydantic` to users, `core_schema_of` and `json_schema_of` to `declared_classes`. A model has the fields, types,
defaults and documentation of the declaration; what a program takes of it is said by the conversion of values (`values.py`),
which reads its fields and imports no Pydantic: of this folder that is imported here alone, and only by who asks for a model.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, Literal, Union

from ..runtime.errors import install_advice
from ..vm.bytecode.shape import field_rows
from ..vm.panics import Panic
from ..vm.values.objects import EnumType
from .annotations import Objects, annotated
from .defaults import known_default
from .json_text import json_data
from .python_names import python_names
from .values import PLAIN, UNKNOWN, Enum, Struct, read_value, to_python

if TYPE_CHECKING:
    from pydantic import BaseModel

    from .declared_classes import DeclaredClasses


def pydantic(declared: type[Struct] | type[Enum]) -> type[BaseModel]:
    """Return the model of Pydantic for a class of a program's types, the same one each time: of a struct or schema a model with
    its fields, of an enum a root model of its variants in the form of JSON, a variant that holds nothing also as its name alone;
    that of an enum without variants takes nothing. A default that only the program can compute makes the field optional there
    too; it is left out of what is passed on. Raise TypeError for another class, ImportError where Pydantic is not installed."""
    if not (isinstance(declared, type) and issubclass(declared, Struct | Enum) and hasattr(declared, "_shape")):
        raise TypeError(f"{declared!r} is no class of a program's types")
    try:
        import pydantic as library  # noqa: F401
    except ImportError:
        raise ImportError(f"models of Pydantic need Pydantic, which is not installed: {install_advice('pydantic')}") from None
    home: DeclaredClasses = declared._shape.home
    if home.models is None:
        home.models = _Models(home)
    model: type[BaseModel] = home.models.of(declared._shape.decl.key)
    return model


class _Models(Objects):
    """The models of one program, by the keys of their types; the Spelling of the annotations that their fields have. A type that
    holds itself is named by a text first. `scalars` and `keys`: types of Python, of values and of keys of dicts, with what
    Pydantic checks of them; `made`: the models so far, not whole while one is being made; `rows`: the declared types in the
    image."""

    def __init__(self, classes: DeclaredClasses) -> None:
        from pydantic import BeforeValidator, PlainSerializer, Strict

        super().__init__(classes)
        # Scalars are what they are, as in the conversion: no text is a number, no bool an Int. What has another form in JSON is
        # read from that too, also where somebody else has parsed the JSON, as FastAPI does.
        scalars: dict[str, Any] = {name: Annotated[self.PLAIN[name], Strict()] for name in ("int", "float", "str", "bool")}
        written = PlainSerializer(lambda value: base64.b64encode(value).decode(), return_type=str, when_used="json")
        scalars["bytes"] = Annotated[bytes, BeforeValidator(_from_base64), written]
        self.scalars = scalars
        self.keys: dict[Any, Any] = {
            scalars["int"]: Annotated[scalars["int"], BeforeValidator(_int_key)],
            scalars["bool"]: Annotated[scalars["bool"], BeforeValidator(_bool_key)],
        }
        self.made: dict[str, Any] = {}
        self.open: dict[str, str] = {}  # names of models that are being made
        self.rows = {row[1]: row for row in classes.program.image.types if row[0] in ("struct", "schema", "enum")}

    def of(self, key: str) -> Any:
        """Return the model of a type, whole."""
        if key not in self.made:
            self._make(key)
            scope = {model.__name__: model for model in self.made.values()}
            for model in self.made.values():
                model.model_rebuild(_types_namespace=scope)
        return self.made[key]

    def declared(self, kind: str, key: str, argument: bool) -> Any:
        if key in self.made:
            return self.made[key]
        return self.open[key] if key in self.open else self._make(key)

    def plain(self, name: str) -> Any:
        return self.scalars.get(name) or super().plain(name)

    def either(self, *parts: Any) -> Any:
        return Union[tuple(_reference(part) for part in parts)]  # noqa: UP007  # of parts that are known only now

    def generic(self, name: str, *parts: Any) -> Any:
        if name == "dict":
            parts = (self.keys.get(parts[0], parts[0]), parts[1])
        return super().generic(name, *map(_reference, parts))

    def _make(self, key: str) -> Any:
        name = self.open[key] = self.classes.types[key]
        make = self._enum if self.rows[key][0] == "enum" else self._struct
        self.made[key] = make(key, name)
        del self.open[key]
        return self.made[key]

    def _struct(self, key: str, name: str) -> Any:
        from pydantic import Field, create_model

        notes = self.classes.interface.type(key)
        rows = field_rows(self.rows[key])
        names = _model_names([row[0] for row in rows])
        fields: dict[str, Any] = {}
        for row in rows:
            kind = _reference(annotated(self.classes, row[1], self))
            settings: dict[str, Any] = {"description": notes.parts.get(row[0])}
            if names[row[0]] != row[0]:
                settings["alias"] = row[0]
            fields[names[row[0]]] = kind, Field(**settings, **self._default(row))
        return create_model(name, __config__=_config(), __doc__=notes.doc or None, __module__=self._module, **fields)

    @property
    def _module(self) -> str:
        return f"{self.classes.module or self.classes.program.image.header.name}"

    def _default(self, row: list[Any]) -> dict[str, Any]:
        function = next((part for part in row[3:] if type(part) is int), None)
        program = self.classes.program
        if function is None:
            return {"default": None} if program.image.types[row[1]][0] in ("option", "nilable") else {}
        if known_default(program, function) is UNKNOWN:
            return {"default_factory": lambda: UNKNOWN, "exclude_if": lambda value: value is UNKNOWN}
        value = known_default(program, function)
        return {"default": value} if type(value) in PLAIN else {"default_factory": lambda: known_default(program, function)}

    def _enum(self, key: str, name: str) -> Any:
        from pydantic import BeforeValidator, Field, RootModel, WithJsonSchema, create_model

        forms: list[Any] = []
        units = [variant[0] for variant in self.rows[key][2] if not variant[1]]
        for variant, kinds, *parts in self.rows[key][2]:
            items = [_reference(annotated(self.classes, kind, self)) for kind in kinds]
            data: Any = None
            if parts:
                names = _model_names(parts)
                fields: dict[str, Any] = {
                    names[part]: (kind, Field(alias=None if names[part] == part else part))
                    for part, kind in zip(parts, items, strict=True)
                }
                data = create_model(f"{name}_{variant}_data", __config__=_config(), __module__=self._module, **fields)
            elif items:
                data = items[0] if len(items) == 1 else tuple[tuple(items)]  # type: ignore[misc]
            form: dict[str, Any] = {"variant": (Literal[variant], ...), "data": (data, ...) if items else (None, None)}
            forms.append(create_model(f"{name}_{variant}", __config__=_config(), __module__=self._module, **form))
        if units:
            forms.append(Literal[tuple(units)])
        if not forms:
            forms.append(Annotated[None, BeforeValidator(_refuse), WithJsonSchema({"not": {}})])
        root: Any = RootModel[Union[tuple(forms)]]  # type: ignore[misc]  # noqa: UP007  # of forms that are known only now
        doc = self.classes.interface.type(key).doc or None
        return create_model(name, __base__=root, __doc__=doc, __module__=self._module)


def _config() -> Any:
    from pydantic import ConfigDict

    return ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, populate_by_name=True, serialize_by_alias=True
    )


def _model_names(names: list[str]) -> dict[str, str]:
    """Return the names that fields have in a model, by their own: beside what Python cannot say, Pydantic allows none with an
    underscore before it, and none of what its models have themselves."""
    from pydantic import BaseModel

    kept = frozenset(name for name in dir(BaseModel) if not name.startswith("_"))
    stripped = {name: name.lstrip("_") or "field" for name in names}
    own = python_names([name for name in names if name == stripped[name]], kept)
    others = python_names([stripped[name] for name in names if name not in own], kept.union(own.values()))
    return {name: own[name] if name in own else others[stripped[name]] for name in names}


def _refuse(value: Any) -> Any:
    raise ValueError("the enum has no variants")


def _from_base64(value: Any) -> Any:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else value


def _int_key(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() else value


def _bool_key(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def core_schema_of(declared: Any, handler: Any) -> Any:
    """Return how Pydantic reads and writes values of a class of a program's types (`__get_pydantic_core_schema__`, whose
    `handler` this gets): it takes what the model takes, but for a left-out field whose default the program computes, which is
    refused; it gives a value of the class, and writes the JSON form. Raise TypeError and ImportError as `pydantic`."""
    from pydantic import PlainSerializer, WrapValidator

    model = pydantic(declared)

    def read(value: Any, inner: Any) -> Any:
        return value if isinstance(value, declared) else _value_of(declared, inner(value))

    return handler.generate_schema(Annotated[model, WrapValidator(read), PlainSerializer(json_data)])


def json_schema_of(declared: Any, handler: Any) -> Any:
    """Return the JSON Schema of a class of a program's types, which is that of its model (`__get_pydantic_json_schema__`). Raise
    TypeError and ImportError as `pydantic`."""
    return handler(pydantic(declared).__pydantic_core_schema__)


def _value_of(declared: Any, model: Any) -> Any:
    """Return the value of a class for a model, through the conversion that arguments go through. Raise ValueError for one that
    does not fit."""
    shape = declared._shape
    kind = "enum" if isinstance(shape.decl, EnumType) else "struct"
    try:
        value, left_out = read_value(model, shape.home.program, (kind, shape.decl.key), declared.__name__)
    except (TypeError, Panic) as misfit:
        raise ValueError(str(misfit)) from None
    if left_out:
        raise ValueError(f"{declared.__name__}: fields whose defaults the program computes have to be given")
    result = to_python(value)
    if not isinstance(result, declared):
        raise ValueError(f"expected {declared.__qualname__}, got {type(result).__qualname__}")
    return result


def _reference(part: Any) -> Any:
    return ForwardRef(part) if isinstance(part, str) else part
