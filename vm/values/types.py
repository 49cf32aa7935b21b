"""Type descriptors: the run-time form of a type, as nested tuples.

`("int",) ("float",) ("string",) ("bool",) ("nil",) ("any",) ("never",) ("range",) ("prompt",) ("bytes",)`, `("array", t)`,
`("map", k, v)`, `("hashmap", k, v)`, `("pipeline", t, t)`, `("set", t)`, `("queue", t)`, `("stack", t)`, `("tuple", (t, …))`,
`("option", t)`, `("result", t, e)`, `("nilable", t)`, `("fn", (t, …), r)`, `("union", ("a", "b"))`, `("struct", key)`,
`("schema", key)`, `("enum", key)`, `("trait", name, (t, …))` with the types that implement it, `("error", family)`,
`("error", family, variant)`, `("record", name)` of a built-in record, `("handle", type name)`; and of no type, but lists of
numbers of the image, `("errors", (n, …))` of the types that have `impl Error`, `("channels", (n, …))` and `("by_model", (n, …))`
of functions, `("offers", …)` of what the program offers. Only signatures of built-ins have `("var", name)`, `hashmap`, `index`,
`pipeline`, `task`, `typed_stream`, `item_stream` and `host_stream`.

Hands on `type_text`, which writes a descriptor as source does, and `typeof`, the type name of a value, to everything that writes
messages; `plain_name` to linking, dispatch and the API, `kind_of_type` to linking; the type `Descriptor` to the files beside it,
built-ins, effects and `runtime/tools/`. What a value of a type is, `casts.py` decides; nothing is raised here. An image has
another form of types (`bytecode/shape.py`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Descriptor = tuple[Any, ...]

NAMES = {
    "int": "Int", "float": "Float", "string": "String", "bool": "Bool", "nil": "Nil", "any": "Any", "never": "never",
    "range": "Range", "prompt": "Prompt", "array": "Array", "map": "Map", "option": "Option", "result": "Result",
    "bytes": "Bytes",
    "set": "Set", "queue": "Queue", "stack": "Stack", "hashmap": "HashMap", "pipeline": "PipelineRef",
    "index": "Index",
    "typed_stream": "TypedStream", "item_stream": "ItemStream", "host_stream": "Stream",
}


def type_text(descriptor: Descriptor) -> str:
    """Return the type as source writes it (L-4.1.7), such as `Array<Int>?`; of a declared type the name without its path. Not for
    `var`, `task` and the lists, which no value is checked against."""
    head = descriptor[0]
    if head in NAMES:
        arguments = ", ".join(type_text(part) for part in descriptor[1:])
        return f"{NAMES[head]}<{arguments}>" if arguments else NAMES[head]
    if head == "tuple":
        parts = [type_text(part) for part in descriptor[1]]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if head == "nilable":
        return f"{_bracketed(descriptor[1], 'union', 'fn')}?"
    if head == "fn":
        result = "" if descriptor[2] == ("nil",) else f" -> {_bracketed(descriptor[2], 'union')}"
        return f"fn({', '.join(type_text(part) for part in descriptor[1])}){result}"
    if head == "union":
        return " | ".join(f'"{member}"' for member in descriptor[1])
    if head in ("struct", "schema", "enum", "trait"):
        return plain_name(descriptor[1])
    return "::".join(descriptor[1:])


def _bracketed(descriptor: Descriptor, *heads: str) -> str:
    """Return a part as `type_text`; of these heads in brackets, without which what stands beside it would belong to its end."""
    text = type_text(descriptor)
    return f"({text})" if descriptor[0] in heads else text


def plain_name(key: str) -> str:
    """Return the name of a declared type as programs see it, from its unique key: `a::P#2` is `P` (L-5.1.8)."""
    return key.rpartition("::")[2].partition("#")[0]


_KINDS = {"fn": "Function", **NAMES}


def kind_of_type(entry: Any) -> str:
    """Return the word under which the impls of a type are found: the key of a declared type, `Tuple/2` of a tuple of two, else
    the word that `kinds_of` in `interp/dispatch.py` has for its values, such as "Array". `entry` is the entry in an image of a
    type that can have impls: not of `T?`, a string union, Any or `never`."""
    head = entry[0]
    if head == "tuple":
        return f"Tuple/{len(entry[1])}"
    return str(entry[1]) if head not in _KINDS and len(entry) > 1 else _KINDS.get(head, head)


# ----------------------------------------------------------------
# The run-time type name of every value: what `typeof` gives (L-5.1, third column).
#
# `typeof` knows the scalars and asks every other class for its `type_name`, so this module imports none.

SCALAR_NAMES: dict[type, str] = {
    int: "Int", float: "Float", str: "String", bool: "Bool", type(None): "Nil", tuple: "Tuple", bytes: "Bytes",
}


def typeof(value: Any) -> str:
    """Return the type name of `value`, any value of the program: of its kind, or of its declaration when it has one."""
    name = SCALAR_NAMES.get(type(value))
    return value.type_name if name is None else name
