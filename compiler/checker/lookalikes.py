"""Texts that look like what they are not: the name of a type in quotes (W0022), `{}` that `println` does not fill (W0023).

Must not know: what the texts are for.
"""

from __future__ import annotations

import re

from .. import ast
from .context import Checker

# What a type is called here and elsewhere, where a schema may have quotes around it, and the type.
QUOTED = {
    **dict.fromkeys(("string", "String", "str"), "String"),
    **dict.fromkeys(("int", "Int", "integer", "Integer"), "Int"),
    **dict.fromkeys(("number", "float", "Float", "double"), "Float"),
    **dict.fromkeys(("bool", "Bool", "boolean", "Boolean"), "Bool"),
    **dict.fromkeys(("string[]", "array", "list"), "Array<String>"),
    "object": "Map<String, Any>",
    **dict.fromkeys(("any", "Any"), "Any"),
}
# Fields whose value is often the word itself.
TAGS = ("type", "kind")
_PLACE = re.compile(r"(?<!\{)\{(?::[^{}]*|[0-9]*)\}(?!\})")


def quoted_type(c: Checker, field: ast.Field) -> None:
    """L-4.7.21: a field of which the type is one text, and that the name of a type."""
    written = field.type
    if isinstance(written, ast.LiteralType) and field.name.text not in TAGS and (meant := QUOTED.get(str(written.value))):
        message = f"`{field.name.text}` holds the text \"{written.value}\" and nothing else"
        c.report("W0022", written.span, message, help=f"write `{field.name.text}{'?' if field.optional else ''}: {meant}`")


def unfilled_places(c: Checker, name: str, arguments: list[ast.Argument]) -> None:
    """L-4.7.22: `println("{} of {}", a, b)` prints the braces, and the values behind the text."""
    first = arguments[0].value if arguments else None
    if name not in ("print", "println") or len(arguments) < 2 or not isinstance(first, ast.StringLiteral):
        return
    if not _PLACE.search(first.value):
        return
    plain = all(place[0] in ("{}", "{0}", "{1}", "{2}") for place in _PLACE.finditer(first.value))
    written = c.text(first)[1:-1]
    values = [c.text(argument.value)[1:-1] for argument in arguments[1:]]
    help = f"write `{name}(std::fmt::format({written}, [{', '.join(values)}]))`"
    if plain and "…" not in written and not any('"' in value or "…" in value for value in values):
        rest = iter(values)
        filled = _PLACE.sub(lambda place: "${" + next(rest, "…") + "}", written)
        help = f"write `{name}({filled})`"
    c.report("W0023", first.span, f"`{name}` does not fill `{_PLACE.search(first.value)[0]}`", help=help)  # type: ignore[index]
