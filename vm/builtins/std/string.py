"""`std::string`: the String methods as functions (L-7.8)."""

from __future__ import annotations

from .. import arrays
from ..guards import array, text
from ..registry import METHODS, std

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

AS_METHODS = (
    "len", "trim", "trim_start", "trim_end", "to_upper", "to_lower", "contains", "starts_with", "ends_with", "split", "replace",
    "substring", "repeat", "reverse", "parse_int", "parse_float",
)  # fmt: skip


def _function_of(method: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def function(string: Any, *arguments: Any) -> Any:
        return method(text(string), *arguments)

    function.__doc__ = doc
    return function


for _name in AS_METHODS:
    _row = METHODS["String", _name]
    _parameters = _row.text.replace("(", "(string: String, ").replace(", )", ")")
    std("string", _parameters, clause="L-7.8.1", linear=_row.linear)(_function_of(_row.body, _row.doc))


@std("string", "join(xs: Array<Any>, sep: String) -> String", clause="L-7.8.2", linear=True)
def join(xs: Any, sep: Any) -> str:
    """The Display texts of the elements with the separator between them."""
    array(xs)
    return arrays.array_join(xs, sep)


