"""`concerto check --python`: the functions of Python that a program declares, beside what their modules have (P-1.9).

Hands on `compare` to `check`. The modules are imported here, to which the flag is the consent; the functions that a program
declares are not called, and annotations that are texts are evaluated. An annotation is judged only where it surely takes no value
of the declared type, where parts of collections count as if there were some: what it is not known of fits.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types as python_types
import typing
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from ..compiler import types as t
from ..compiler.diagnostics import Diagnostics
from ..compiler.symbols import FunctionSymbol
from ..compiler.syntax import ast

MISSING, ARGUMENTS, ANNOTATION = "W0407", "W0408", "W0409"
NONE = type(None)
# What a value of a type is in Python: the classes, of which any may come.
SCALARS: dict[t.Type, tuple[type, ...]] = {
    t.INT: (int,), t.FLOAT: (float,), t.STRING: (str,), t.BOOL: (bool,), t.NIL: (NONE,), t.BYTES: (bytes,), t.RANGE: (dict,),
}  # fmt: skip
COLLECTIONS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("Array", "Set", "Queue", "Stack"), (list,)), "Map": (dict,),
}  # fmt: skip
# Of those that come from Python, what else is read as such a value (`api/values.py`).
READ: dict[t.Type, tuple[type, ...]] = {t.FLOAT: (float, int), t.BYTES: (bytes, bytearray, memoryview)}
READ_COLLECTIONS = {**dict.fromkeys(COLLECTIONS, (list, tuple)), "Map": (dict, Mapping)}
STREAMS = (Iterable, AsyncIterable)


def compare(functions: Iterable[FunctionSymbol], folder: str, diagnostics: Diagnostics) -> None:
    """Import the modules of functions of Python, those beside the program, in `folder`, first (it is put before the others in
    `sys.path`), and report to `diagnostics` what does not fit the declarations, what an import raises too. Functions of the
    program itself are passed over. A module that this process has imported, perhaps for another program, is taken as it is. Raise
    KeyboardInterrupt for Ctrl-C in an import."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    for symbol in functions:
        if symbol.extern is not None:
            _compare(symbol, symbol.extern.module.value, diagnostics)


def _compare(symbol: FunctionSymbol, module: str, diagnostics: Diagnostics) -> None:
    node = symbol.declaration
    attribute = symbol.name if node.foreign_name is None else node.foreign_name.value
    try:
        target: Any = importlib.import_module(module)
        for name in attribute.split("."):
            target = getattr(target, name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        asked = f"{sys.executable} has it not: {type(error).__name__}: {error}"
        diagnostics.report(MISSING, node.name.span, f"`{module}.{attribute}` cannot be imported", help=asked)
        return
    if not callable(target):
        diagnostics.report(MISSING, node.name.span, f"`{module}.{attribute}` is no function", help="name one, or declare none")
        return
    try:
        signature = inspect.signature(target)
    except Exception:  # of a function that is written in C, or an object of the module whose attributes raise
        return
    _compare_arguments(symbol, signature, diagnostics)
    _compare_annotations(symbol, target, signature, diagnostics)


def _compare_arguments(symbol: FunctionSymbol, signature: inspect.Signature, diagnostics: Diagnostics) -> None:
    try:
        signature.bind(*symbol.parameters)
    except TypeError as refused:
        count = len(symbol.parameters)
        message = f"`{symbol.name}` passes {count} argument{'' if count == 1 else 's'}, which Python does not take: {refused}"
        diagnostics.report(ARGUMENTS, symbol.declaration.name.span, message, help=f"the function there takes `{signature}`")


def _compare_annotations(
    symbol: FunctionSymbol, target: Any, signature: inspect.Signature, diagnostics: Diagnostics
) -> None:
    try:
        hints = typing.get_type_hints(target)
    except Exception:  # of annotations that are no types
        return
    node = symbol.declaration
    positional = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for parameter, written, type_ in zip(positional, node.parameters, symbol.parameters, strict=False):
        if parameter.name in hints and written.type is not None and not takes(hints[parameter.name], type_):
            _misfit(diagnostics, written.type, symbol, f"its parameter `{parameter.name}`", hints[parameter.name], type_)
    if "return" in hints and node.result is not None and not gives(hints["return"], symbol.result):
        _misfit(diagnostics, node.result, symbol, "its result", hints["return"], symbol.result)


def _misfit(
    diagnostics: Diagnostics, at: ast.TypeExpr, symbol: FunctionSymbol, what: str, annotation: Any, type_: t.Type
) -> None:
    shown = inspect.formatannotation(annotation)
    message = f"`{symbol.name}` declares `{type_}`; in Python {what} is annotated `{shown}`"
    diagnostics.report(ANNOTATION, at.span, message, help="a value of the one is never one of the other: change either")


# ---------------------------------------------------------------- types and annotations


def takes(annotation: Any, type_: t.Type) -> bool:
    """Return whether some value of a type of the program may be of an annotation of Python; True where that is not known."""
    classes = _classes(type_)
    if classes is None:
        return True
    return any(_accepts(annotation, kind, type_, takes) for kind in classes)


def gives(annotation: Any, type_: t.Type) -> bool:
    """Return whether some value of an annotation of Python may be read as one of a type of the program; True where that is not
    known."""
    annotation = _awaited(annotation)
    if isinstance(type_, t.Generic) and type_.name == "Result":
        return gives(annotation, type_.arguments[0]) or any(_accepts(annotation, kind, type_, gives) for kind in _classes(type_)
        or ())
    if isinstance(type_, t.Generic) and t.of_host(type_):
        return _gives_elements(annotation, type_.arguments[0])
    classes = _classes(type_, is_read=True)
    if classes is None:
        return True
    return any(_accepts(annotation, kind, type_, gives) for kind in classes)


def _gives_elements(annotation: Any, element: t.Type) -> bool:
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if not isinstance(origin, type):
        return True
    if issubclass(origin, (str, bytes, Mapping)) or not issubclass(origin, STREAMS):
        return origin is object
    return not arguments or gives(arguments[0], element)


def _awaited(annotation: Any) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    class_ = origin or annotation
    if not isinstance(class_, type) or not issubclass(class_, Awaitable):
        return annotation
    return arguments[-1] if arguments else Any  # what comes of it is not said


def _accepts(annotation: Any, kind: type, type_: t.Type, inner: Callable[[Any, t.Type], bool]) -> bool:
    """Return whether an annotation may mean a value of the class `kind`, which a value of the type has in Python; `inner` judges
    what a collection holds."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None:
        return kind is NONE
    if origin in (typing.Union, python_types.UnionType):
        return any(_accepts(part, kind, type_, inner) for part in arguments)
    if origin is typing.Annotated:
        return _accepts(arguments[0], kind, type_, inner)
    if origin is typing.Literal:
        return any(type(value) is kind for value in arguments)
    known = annotation if origin is None else origin
    if not isinstance(known, type) or known in (object, Any) or _is_made_of_fields(known):
        return True
    if kind is bool or known is bool:  # an Int is no Bool, though Python says otherwise
        return kind is known or (kind is bool and known in (int, float) and inner is takes)
    if kind is int and known in (float, complex) and inner is takes:
        return True
    try:
        is_related = issubclass(kind, known) or issubclass(known, kind)
    except Exception:  # of a class that says itself what is below it
        return True
    return is_related and _fits_inside(known, arguments, type_, inner)


def _is_made_of_fields(known: type) -> bool:
    """Return whether instances of a class may stand for structs: dataclasses, TypedDicts, models of Pydantic, protocols."""
    marks = ("__dataclass_fields__", "__pydantic_fields__", "__total__", "_is_protocol")
    return any(getattr(known, mark, None) for mark in marks)


def _fits_inside(known: type, arguments: tuple[Any, ...], type_: t.Type, inner: Callable[[Any, t.Type], bool]) -> bool:
    if isinstance(type_, t.Nilable):
        return _fits_inside(known, arguments, type_.inner, inner)
    if not isinstance(type_, t.Generic) or not arguments:
        return True
    if type_.name == "Option":
        return _fits_inside(known, arguments, type_.arguments[0], inner)
    if type_.name in COLLECTIONS and len(arguments) == len(type_.arguments) and issubclass(known, (Sequence, Iterable, Mapping)):
        return all(map(inner, arguments, type_.arguments))
    return True


def _classes(type_: t.Type, *, is_read: bool = False) -> tuple[type, ...] | None:
    """Return the classes of Python that values of a type may have, None where any may; with `is_read` those that are read as
    values of it."""
    from ..api.values import Enum, Err, Ok, Struct

    if type_ in SCALARS:
        return (is_read and READ.get(type_)) or SCALARS[type_]
    match type_:
        case t.Nilable():
            inside = _classes(type_.inner, is_read=is_read)
            return None if inside is None else (*inside, NONE)
        case t.Generic(name="Option"):
            inside = _classes(type_.arguments[0], is_read=is_read)
            return None if inside is None else (*inside, NONE)
        case t.Generic(name="Result"):
            return (Ok, Err)
        case t.Generic() if type_.name in COLLECTIONS:
            return (READ_COLLECTIONS if is_read else COLLECTIONS)[type_.name]
        case t.Tuple():
            return (tuple,)
        case t.Union():
            return (str,)
        case t.Function():
            return (python_types.FunctionType,)
        case t.Nominal(kind="struct" | "schema"):
            return (Struct, dict)
        case t.Nominal(kind="enum"):
            return (Enum, str, dict)
    return None
