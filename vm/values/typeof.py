"""The run-time type name of every value: what `typeof` gives (L-5.1, third column).

Hands on `typeof`. It knows the scalars and asks every other class for its `type_name`, so this module imports none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCALAR_NAMES: dict[type, str] = {
    int: "Int", float: "Float", str: "String", bool: "Bool", type(None): "Nil", tuple: "Tuple", bytes: "Bytes",
}


def typeof(value: Any) -> str:
    """The type name of `value`: of its kind, or of its declaration when it has one."""
    name = SCALAR_NAMES.get(type(value))
    return value.type_name if name is None else name
