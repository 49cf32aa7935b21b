"""`record`: a class that its annotated fields make, with slots and a constructor.

A dataclass writes the text of its methods and compiles it, a third of a millisecond for each class at every start. Here the text
is compiled once for each pattern of fields, and a class exchanges the names in the code: making one takes microseconds, and its
constructor runs as fast as one that is written by hand. There is no equality by fields and no `repr`.

A written class is still cheaper to import, by a fiftieth of a millisecond, so those that every run of an image imports are
written by hand.

Hands on `record`, a decorator, to the compiler, the runtime and parts of the machine, `field` to the compiler, and `fields_of`
and `FieldSpec` to `compiler/syntax/ast.py`. As in a plain function, a field without a default must not come behind a positional
one with a default, also not behind an inherited one: nothing checks that, nor what class a value has. A constructor raises
TypeError for arguments that do not fit its fields, as any function does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")


class FieldSpec:
    """What stands behind `=` at a field, other than a plain default. The attributes are the parameters of `field`; where there is
    a factory, `default` is NEW."""

    __slots__ = ("default", "factory", "init", "kw_only", "is_derived")

    def __init__(self, default: Any, factory: Callable[[], Any] | None, init: bool, kw_only: bool, is_derived: bool) -> None:
        self.default = default
        self.factory = factory
        self.init = init
        self.kw_only = kw_only
        self.is_derived = is_derived


REQUIRED = object()  # the default of a field without one
NEW = object()  # of a parameter that was left out: the factory gives the value


def field(
    *,
    default: Any = REQUIRED,
    factory: Callable[[], Any] | None = None,
    init: bool = True,
    kw_only: bool = False,
    is_derived: bool = False,
) -> Any:
    """Return the specification of a field: its default, or the function that gives a new one for each record. With `kw_only` it
    is passed by keyword only. Without `init` it is no parameter of the constructor, and at first what `factory` gives, else None.
    `is_derived` is a mark for readers of the table of fields: the record has no use for it."""
    return FieldSpec(NEW if factory is not None else default, factory, init, kw_only, is_derived)


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a record, or of a class of records: by name, those of its bases, then its own, with the plain default
    or the FieldSpec, REQUIRED for none. The table is the class's own: do not change it. Raises AttributeError for what is no
    record."""
    fields: dict[str, Any] = value.record_fields
    return fields


if TYPE_CHECKING:

    @dataclass_transform(eq_default=False, field_specifiers=(field,))
    def record(cls: type[T]) -> type[T]: ...

else:

    def record(cls):
        """Return a class like `cls`, to take its place, with a constructor whose parameters are the annotated fields, behind
        those of the bases. The class's own fields are its slots. `cls` itself stays as it is."""
        namespace = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
        inherited = getattr(cls, "record_fields", {})
        own = namespace.get("__annotations__", ())
        # A slot cannot have a value in the class.
        fields = namespace["record_fields"] = {**inherited, **{name: namespace.pop(name, REQUIRED) for name in own}}
        namespace["__slots__"] = tuple([name for name in own if name not in inherited])
        namespace["__match_args__"] = tuple([name for name, row in fields.items() if _is_positional(row)])

        # A run makes values of few of the classes that it imports, so each gets its constructor when it is first called.
        def __init__(self, *arguments, **named):
            replacement.__init__ = _constructor(cls.__qualname__, fields)
            replacement.__init__(self, *arguments, **named)

        namespace["__init__"] = __init__
        replacement = type(cls)(cls.__name__, cls.__bases__, namespace)
        return replacement


def _is_positional(default: Any) -> bool:
    return type(default) is not FieldSpec or (default.init and not default.kw_only)


_TEMPLATES: dict[tuple[tuple[bool, bool, bool], ...], FunctionType] = {}  # by the pattern of fields


def _constructor(owner: str, fields: dict[str, Any]) -> FunctionType:
    """Return a constructor that takes the fields and stores them, with the names in place of those of the template."""
    rows = {name: row if type(row) is FieldSpec else FieldSpec(row, None, True, False, False) for name, row in fields.items()}
    pattern = tuple([(row.init, row.kw_only, row.factory is not None) for row in rows.values()])
    template = _TEMPLATES.get(pattern)
    if template is None:
        template = _TEMPLATES[pattern] = _template(pattern)
    names = {f"f{number}": name for number, name in enumerate(rows)}
    code = template.__code__
    code = code.replace(
        co_varnames=tuple([names.get(name, name) for name in code.co_varnames]),
        co_names=tuple([names.get(name, name) for name in code.co_names]),
        co_qualname=f"{owner}.__init__",
    )
    factories = {f"new{number}": row.factory for number, row in enumerate(rows.values()) if row.factory is not None}
    defaults = [(name, row.default) for name, row in rows.items() if row.init and row.default is not REQUIRED]
    positional = tuple([default for name, default in defaults if not rows[name].kw_only])
    constructor = type(template)(code, {"NEW": NEW, **factories}, "__init__", positional)
    constructor.__kwdefaults__ = {name: default for name, default in defaults if rows[name].kw_only}
    return constructor


def _template(pattern: tuple[tuple[bool, bool, bool], ...]) -> FunctionType:
    """Return a constructor of fields `f0`, `f1` … of a pattern: for each, whether it is a parameter, one by keyword only, and
    whether a function `new0`, `new1` … gives its first value."""
    positional = ["self"]
    by_keyword: list[str] = []
    stores = ""
    for number, (init, kw_only, is_new) in enumerate(pattern):
        name = f"f{number}"
        if init:
            (by_keyword if kw_only else positional).append(name)
        stores += f"\n    self.{name} = {_first_value(number, init, is_new)}"
    parameters = [*positional, "*", *by_keyword] if by_keyword else positional
    namespace: dict[str, Any] = {}
    exec(f"def __init__({', '.join(parameters)}):{stores}\n    return None\n", namespace)
    template: FunctionType = namespace["__init__"]
    return template


def _first_value(number: int, init: bool, is_new: bool) -> str:
    name = f"f{number}"
    if not init:
        return f"new{number}()" if is_new else "None"
    return f"new{number}() if {name} is NEW else {name}" if is_new else name
