"""What a model is sent by mistake: the text of an Option, a `T?`, a Result or a Media in a hole of its prompt (L-3.3.15).

Hands on `check_prompt` to `calls` and `questions`, `keep_text` and `keep_texts_of` to `control`, `keep_texts_of_closure` to
`methods`, the lint `check_text_as_prompt` to `program`, and the warnings of texts that look like what they are not:
`warn_quoted_type` to `declarations` and `schemas`, and `warn_unfilled_places` to `calls`. All are reported to `c`, the state of
the check, as warnings, with the help for what was most likely meant, but in the prompt of a function by a model, where such a
hole is an error (E4035). A further name of a type in other languages is a row of QUOTED. Nothing is raised here, no type is
changed and no prompt is made: that a text may stand where a Prompt is expected is said by `relations`.
"""

from __future__ import annotations

import re

from ..symbols import Local
from ..syntax import ast
from ..types import BOOL, FLOAT, INT, MEDIA, PROMPT, STRING, Nilable, Type, array
from .relations import generic, is_text
from .state import Checker

TEXTS = array(STRING)
# The methods of an Array whose function gets elements and nothing else.
GIVING_ELEMENTS = frozenset(("map", "flat_map", "filter", "find", "any", "all"))
# The default that a help writes behind `??`.
DEFAULTS: dict[Type, str] = {STRING: '""', INT: "0", FLOAT: "0.0", BOOL: "false"}


def keep_text(c: Checker, node: ast.Let) -> None:
    """Note the text that an immutable variable stands for, so that holes are found where it becomes a prompt, or the texts of an
    Array. `Checker` reads both, to find which literals the variable can hold, and the texts of Arrays serve that alone."""
    if node.value is not None and node.value.type in (STRING, TEXTS):
        _keep(c, node.pattern, node.value)


def keep_texts_of(c: Checker, iterable: ast.Expr, pattern: ast.Pattern) -> None:
    """Note the texts that the variable of a `for` through an Array stands for, one after the other."""
    if iterable.type == TEXTS:
        _keep(c, pattern, iterable)


def keep_texts_of_closure(c: Checker, node: ast.MethodCall) -> None:
    """Note the texts that the parameter of a closure stands for, which a method of an Array gives its elements. The receiver is
    typed, the closure is not."""
    if node.receiver.type == TEXTS and node.name.text in GIVING_ELEMENTS:
        for argument in node.arguments:
            if isinstance(argument.value, ast.Closure) and len(argument.value.parameters) == 1:
                _keep(c, argument.value.parameters[0], node.receiver)


def _keep(c: Checker, place: ast.Pattern | ast.Parameter, value: ast.Expr) -> None:
    local = place.binding if isinstance(place, (ast.BindPattern, ast.Parameter)) else None
    if isinstance(local, Local) and not local.mutable:
        c.text_values[local] = value


def check_text_as_prompt(c: Checker, node: ast.Expr, actual: Type, wanted: Type) -> None:
    """Check a text that went where a Prompt is expected: a lint of `Checker.coerce`, which has given it the type `actual`."""
    if wanted == PROMPT and is_text(actual):
        check_prompt(c, node)


def check_prompt(c: Checker, text: ast.Expr, code: str = "W0016") -> None:
    """Report, once, each hole of a typed text that may be filled with `nil`, with an Option or Result instead of its value, or
    with the name of a Media. Looked through are brackets, `+` and the variables that stand for one text; elements of an Array,
    and what branches and calls give, are not. `code` is W0016, or E4035 for the prompt of a function by a model."""
    pending, seen = [text], {text}
    while pending:
        match node := pending.pop():
            case ast.GroupExpr():
                pending.append(node.inner)
            case ast.Binary(operator="+"):
                pending += [node.right, node.left]
            case ast.PathExpr(binding=Local() as local) if local in c.text_values and c.text_values[local] not in seen:
                pending.append(c.text_values[local])
                seen.add(c.text_values[local])
            case ast.Interpolation():
                for part in node.parts:
                    _check_hole(c, part, code)


def _check_hole(c: Checker, part: ast.Expr, code: str) -> None:
    type_ = part.type
    written = c.text(part)[1:-1]
    if isinstance(type_, Nilable):
        sent, help = "`nil`", _default_help(written, type_.inner)
    elif inside := generic(type_, "Option"):
        sent, help = "`Some(…)` or `None`", _default_help(written, inside[0])
    elif generic(type_, "Result"):
        sent, help = "`Ok(…)` or the text of an error", f"write `${{{written}?}}`, or `match` before"
    elif type_ == MEDIA or (generic(type_, "Array") or (None,))[0] == MEDIA:
        sent, help = "no more than its name", f'add it to the prompt: `Prompt::new("…").with({written})`'
    else:
        return
    if part in c.reported_holes:
        return
    c.reported_holes.add(part)
    c.report(code, part.span, f"the model may read {sent} here: {c.text(part)} is `{type_}`", help=help)


def _default_help(written: str, inside: Type) -> str:
    default = DEFAULTS.get(inside)
    if default is None:
        return "take the value out before: `match`, or `??` with a default"
    return f"give a default: `${{{written} ?? {default}}}`"


# Texts that look like what they are not: the name of a type in quotes (W0022), `{}` that `println` does not fill (W0023).

# Names of types that schemas of other languages write in quotes, with the type here.
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
# `{}`, `{:F}` and `{N}`, in a text as it is and as it is written, where `\u{41}` is none.
_PLACE = re.compile(r"(?<!\{)(?<!\\u)\{(?P<format>:[^{}]*)?(?P<number>(?(format)|[0-9]{0,9}))\}(?!\})")


def warn_quoted_type(c: Checker, field: ast.Field) -> None:
    """Warn of a field whose type is a single text, and that the name of a type (W0022, L-4.7.21); not of one called `type` or
    `kind`, which mostly holds such a word."""
    written = field.type
    if isinstance(written, ast.LiteralType) and field.name.text not in TAGS and (type_name := QUOTED.get(str(written.value))):
        message = f"`{field.name.text}` holds the text \"{written.value}\" and nothing else"
        c.report("W0022", written.span, message, help=f"write `{field.name.text}{'?' if field.optional else ''}: {type_name}`")


def warn_unfilled_places(c: Checker, name: str, arguments: list[ast.Argument]) -> None:
    """Warn of `println("{} of {}", a, b)`, which prints the braces, and the values behind the text (W0023, L-4.7.22). `name` and
    `arguments` are those of the call; other functions than `print` and `println` are passed over."""
    first = arguments[0].value if arguments else None
    if name not in ("print", "println") or len(arguments) < 2 or not isinstance(first, ast.StringLiteral):
        return
    place = _PLACE.search(first.value)
    if place is None:
        return
    written = c.text(first)[1:-1]
    values = [c.text(argument.value)[1:-1] for argument in arguments[1:]]
    places = list(_PLACE.finditer(written))
    filling, rest = _filling([match["number"] for match in places], values)
    behind = "".join([f", {value}" for value in rest])
    if "…" in written or any('"' in value or "…" in value for value in values) or any(match["format"] for match in places):
        text = _PLACE.sub(lambda match: "{" + (match["format"] or "") + "}", written)
        help = f"write `{name}(std::fmt::format({text}, [{', '.join(filling)}]){behind})`"
    else:
        in_order = iter(filling)
        text = _PLACE.sub(lambda match: "${" + next(in_order) + "}", written)
        help = f"write `{name}({text}{behind})`"
    c.report("W0023", first.span, f"`{name}` does not fill `{place[0]}`", help=help)


def _filling(numbers: list[str], values: list[str]) -> tuple[list[str], list[str]]:
    """Return what each place of a text is for, `…` where a value is missing, and the values that no place is for. `numbers`: what
    stands in the places; one with a number is for the value of that number from 0, any other for the next one."""
    following = iter(range(len(numbers)))
    chosen = [int(number) if number else next(following) for number in numbers]
    rest = [value for at, value in enumerate(values) if at not in chosen]
    return [values[at] if at < len(values) else "…" for at in chosen], rest
