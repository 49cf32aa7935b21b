"""JSON texts of values of a program in Python (P-2.4).

Hands on `to_json` to users, `json_data` to `pydantic_models`. The forms are those of the language (L-5.1), which
`std::json::stringify` writes too; values are not converted here, only written down, whatever class they are of.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from ..vm.values import handles
from ..vm.values.limits import float_literal
from ..vm.values.objects import RECORDS
from .media import Media
from .values import Enum, Err, ErrorValue, Handle, Ok, Struct

_REFS = [each for each in vars(handles).values() if isinstance(each, type) and issubclass(each, handles.Ref)]
_WORDS = {each.type_name: each.word for each in _REFS}
_WORDS.update(Function="fn", ModelBuilder="builder", TypedStream="stream", ItemStream="stream")


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value of a program as a JSON text, in the form that `json::stringify` of the language gives it: a struct is an
    object, an enum `{"variant": …, "data": …}`, bytes are their base64 digits, a number that is none is null. `indent`: how
    many spaces to indent by, on lines of their own. Raise TypeError for a value of a class that no program has, ValueError for
    what is nested too deep. Keys of mappings and the range of ints are not looked at."""
    try:
        return _written(json_data(value), indent)
    except RecursionError:
        raise ValueError("the value is nested too deep, or holds itself") from None


def _written(data: Any, indent: int | None, line: str = "\n") -> str:
    if isinstance(data, float):
        return float_literal(data)
    if not data or not isinstance(data, list | dict):
        return json.dumps(data, ensure_ascii=False)
    begin, end, colon = ("", "", ":") if indent is None else (line + " " * indent, line, ": ")
    if isinstance(data, list):
        parts = [_written(item, indent, begin) for item in data]
    else:
        parts = [f"{json.dumps(name, ensure_ascii=False)}{colon}{_written(item, indent, begin)}" for name, item in data.items()]
    text = begin + f",{begin}".join(parts) + end
    return f"[{text}]" if isinstance(data, list) else f"{{{text}}}"


def json_data(value: Any) -> Any:
    """Return the data that JSON has for a value: None, bool, int, float, str, or lists and dicts of such. Raise TypeError as
    `to_json`, RecursionError for what is nested too deep."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if value - value == 0 else None  # of a subclass too, which may write itself in another way
    if isinstance(value, list | tuple):
        return [json_data(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Struct):
        return {name: json_data(part) for name, part in value._fields.items() if not _is_hidden(value, name, part)}
    if isinstance(value, Mapping):
        return {_key(key): json_data(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return {"variant": value.variant, "data": json_data(value.data)}
    if isinstance(value, Ok | Err):
        return {"ok" if isinstance(value, Ok) else "err": json_data(value.value)}
    return _of_the_language(value)


def _of_the_language(value: Any) -> Any:
    if isinstance(value, ErrorValue):
        variant = {} if value.variant is None else {"variant": value.variant}
        fields = {name: json_data(part) for name, part in value.fields.items()}
        return {"kind": value.kind, **variant, "message": value.message, **fields}
    if isinstance(value, Media):
        return {"kind": value.kind, "mime": value.mime, "bytes": value.size, "hash": value.hash, "name": value.name}
    if isinstance(value, Handle):
        word = _WORDS.get(value.kind, value.kind.lower())
        return f"<{word} {value.name}>" if value.name or word != "fn" else "<fn>"
    raise TypeError(f"{type(value).__name__} is no value of a program")


def _is_hidden(value: Struct, name: str, part: Any) -> bool:
    """Return whether a field of a record of the language is left out, as long as it says nothing."""
    record = RECORDS.get(value._type_name) if type(value) is Struct else None
    return record is not None and name in record.decl.hidden and (part is None or part == 0 or part == [])


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return base64.b64encode(key).decode() if isinstance(key, bytes) else str(key)
