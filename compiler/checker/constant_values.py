"""Folded constants as values of the machine and back, so that both fold and run mean the same (L-3.13.5, L-5.1).

A folded constant is plain data: None, bool, int, float, str, list, tuple, dict; ConstStruct, ConstVariant and VariantSymbol for
values of declared types; Some, Ok, Err around such data, and NONE. Must not know: trees.
"""

from __future__ import annotations

from typing import Any

from ...vm import values as vm
from ..symbols import ConstStruct, ConstVariant, StructSymbol, VariantSymbol
from ..types import Generic, Nilable, Simple, Tuple, Type, Union

Types = dict[object, Any]


def machine_value(value: Any, types: Types | None = None) -> Any:
    """The value the constant has when it runs. Values that are to be compared share `types`."""
    types = {} if types is None else types
    match value:
        case list():
            return vm.Array([machine_value(item, types) for item in value])
        case tuple():
            return tuple([machine_value(item, types) for item in value])
        case dict():
            return vm.Map({vm.key_of(key): machine_value(item, types) for key, item in value.items()})
        case vm.Some() | vm.Ok() | vm.Err():
            return type(value)(machine_value(value.value, types))
        case VariantSymbol():
            return _variant(value, [], types)
        case ConstVariant():
            return _variant(value.variant, value.values, types)
        case ConstStruct():
            cls = _struct_class(value.struct, types)
            return cls.of([machine_value(item, types) for item in value.values])
    return value


def _variant(symbol: VariantSymbol, payload: list[object], types: Types) -> Any:
    if symbol.enum not in types:
        types[symbol.enum] = vm.EnumType(symbol.enum.name, [_declared(member) for member in symbol.enum.members])
    return vm.EnumValue(types[symbol.enum], symbol.index, tuple([machine_value(part, types) for part in payload]) or None)


def _declared(member: VariantSymbol) -> vm.Variant:
    names = tuple([field[0] for field in member.fields]) if member.form == "struct" else ()
    return vm.Variant(member.name, len(member.fields), names)


def _struct_class(symbol: StructSymbol, types: Types) -> Any:
    if symbol not in types:
        types[symbol] = vm.make_struct_class(vm.StructType(symbol.name, [field[0] for field in symbol.fields]))
    return types[symbol]


def plain_value(value: Any) -> Any:
    """Plain data again, of what operators and casts give."""
    if type(value) is vm.Array:
        return [plain_value(item) for item in value.items]
    if type(value) is tuple:
        return tuple([plain_value(item) for item in value])
    if type(value) is vm.Map:
        return {vm.unkey(key): plain_value(item) for key, item in value.items.items()}
    if type(value) in (vm.Some, vm.Ok, vm.Err):
        return type(value)(plain_value(value.value))
    return value


_SCALARS = {"Int": "int", "Float": "float", "String": "string", "Bool": "bool", "Nil": "nil", "Any": "any"}
_GENERIC = {"Array": "array", "Map": "map", "Option": "option", "Result": "result"}


def descriptor_of(type_: Type | None) -> Any:
    """The type of a cast as the machine knows it; None for those a constant cannot be cast to."""
    match type_:
        case Simple():
            return (_SCALARS[type_.name],) if type_.name in _SCALARS else None
        case Union():
            return ("union", tuple(type_.members))
        case Nilable():
            inner = descriptor_of(type_.inner)
            return inner and ("nilable", inner)
        case Tuple():
            parts = tuple([descriptor_of(item) for item in type_.items])
            return None if None in parts else ("tuple", parts)
        case Generic():
            arguments = [descriptor_of(item) for item in type_.arguments]
            return None if None in arguments or type_.name not in _GENERIC else (_GENERIC[type_.name], *arguments)
    return None
