"""What a model is told of a function that it may call: its name, its parameters as a schema, their texts and defaults (O-4.3,
O-4.7 to O-4.10).

Hands on `arguments_of`, `parameter_texts` and `check_wire_name` to the checks of tools, MCP servers, and functions that are
offered as tools (`questions`); `parameter_texts` to `declaration_checks` too, for functions by models, and to `externs` for
those of Python; `check_wire_name` to `stores` too, since a model may use a store by tools. Which types a parameter may have is
said by `schemas.field_without_json`. What is wrong is reported to `c`, the state of the check, and not raised. The JSON Schema
of the parameters is made by codegen, and how a call of the model is matched with them is a matter of the run.
"""

from __future__ import annotations

from ..fields import TEXT
from ..hints.names import did_you_mean, listed
from ..source import Span
from ..symbols import FunctionSymbol, StructSymbol
from ..syntax import ast
from ..types import Nilable, Nominal, Type
from .config import check_value
from .declarations import at_module_level
from .decorators import check_decorators
from .json_shapes import check_size
from .relations import ERRONEOUS
from .schemas import field_without_json, fold_nested_defaults, folded_default
from .state import Checker, Expected

LONGEST_WIRE_NAME = 64  # characters that every provider takes as the name of a tool


def arguments_of(c: Checker, owner: str, method: FunctionSymbol, texts: dict[str, str]) -> StructSymbol:
    """Return the parameters of a method, `self` and those without a type apart, as the fields of a schema, with their texts and
    constant defaults: a model is told them so. `owner` is the name of the tool, server or offered function; `texts` are those of
    `parameter_texts`. Report a type without JSON form (E4020) or with too large a one (E0114), and a default that is not
    constant, is of another type or has no JSON form (E4023), whose evaluation fails (E2033) or that throws (E3012), those of
    structs in the types too."""
    node = method.declaration
    fields: list[ast.Field] = []
    arguments = StructSymbol(f"{owner}.{method.name}", _as_schema(node, fields), Nominal("schema", ""), [])
    for parameter, type_ in zip(node.parameters, method.parameters, strict=True):
        if not parameter.is_self and parameter.type is not None:  # without type it was reported
            fields.append(_as_field(parameter, texts.get(parameter.name.text)))
            arguments.fields.append((parameter.name.text, type_, parameter.default, False))
            _check_parameter(c, arguments, parameter, type_)
    fold_nested_defaults(c, arguments)
    return arguments


def check_wire_name(c: Checker, name: str, span: Span) -> None:
    """Report a name for models, `Tool__method` as the wire has it, that is longer than providers take (E4013)."""
    if len(name) > LONGEST_WIRE_NAME:
        message = f"`{name}` is longer than {LONGEST_WIRE_NAME} characters, which no provider takes"
        c.report("E4013", span, message, help="shorten the name of the tool or of the method")


def _as_schema(node: ast.Function, fields: list[ast.Field]) -> ast.Schema:
    return ast.Schema(span=node.span, name=node.name, type_parameters=[], fields=fields)


def _as_field(parameter: ast.Parameter, text: str | None) -> ast.Field:
    assert parameter.type is not None
    return ast.Field(span=parameter.span, name=parameter.name, type=parameter.type, default=parameter.default, doc=text)


def _check_parameter(c: Checker, arguments: StructSymbol, parameter: ast.Parameter, type_: Type) -> None:
    """Check a parameter: its type has a JSON form (E4020, O-4.7), its default is constant, so that a model can be told (E4023,
    O-4.10)."""
    name = parameter.name.text
    offending = type_ if type_.has_parameters else field_without_json(c, type_)
    if offending is not None and type_ is not ERRONEOUS:
        assert parameter.type is not None
        help = "use String, Int, Float, Bool, a string union, Array, Map<String, T>, a schema, or Any"
        if isinstance(offending, Nilable):
            help = f"write `{name}: Option<{offending.inner}>`"
        c.report("E4020", parameter.type.span, f"`{offending}` has no JSON form", help=help)
    elif parameter.type is not None:
        check_size(c, type_, parameter.type.span)
    if parameter.default is None:
        return
    if at_module_level(c, parameter.default, Expected(type_, "E4023", f"the default of `{name}`")) is not ERRONEOUS:
        arguments.constants[name] = folded_default(c, parameter.default)


def parameter_texts(c: Checker, method: FunctionSymbol, *, required: bool) -> dict[str, str]:
    """Return the texts of the parameters that have one, by name: `@param("name", "text")` above the method, `@param("text")`
    before the parameter, or else its doc comment (O-4.3); of two the first. E4009 for other arguments of `@param`; for another
    decorator before a parameter E4009, or E4001 if there is none of that name; E4011 for a parameter that is unknown, whose text
    is returned all the same, described twice, or without text if that is `required`."""
    node = method.declaration
    parameters = {p.name.text: p for p in node.parameters if not p.is_self}
    texts: dict[str, str] = {}
    places: dict[str, Span] = {}
    undescribed: set[str | None] = set()  # parameters whose text was reported
    above = [(decorator, None) for decorator in node.decorators if decorator.name.text == "param"]
    before = [(decorator, p.name.text) for p in parameters.values() for decorator in p.decorators]
    for decorator, name in [*above, *before]:
        if decorator.name.text != "param":
            check_decorators(c, [decorator], "parameter")
            continue
        name, text = _read_param(c, decorator, name)
        if name is None or text is None:
            undescribed.add(name)
            continue
        if name not in parameters:
            c.report(
                "E4011", decorator.span, f"`{method.path}` has no parameter `{name}`",
                help=did_you_mean(name, parameters) or listed("its parameters", [*parameters]) or "remove it: there are none",
            )
        elif name in texts:
            c.report(
                "E4011", decorator.span, f"the parameter `{name}` of `{method.path}` is described twice", first=places[name],
                help="keep one of the two",
            )
        texts.setdefault(name, text)
        places.setdefault(name, decorator.span)
    for name, parameter in parameters.items():
        if name not in texts and parameter.doc:
            texts[name] = parameter.doc
        if required and name not in texts and name not in undescribed:
            help = f"write `/// …` on the line before it, or `@param(\"{name}\", \"…\")` above the method"
            c.report("E4011", parameter.name.span, f"the parameter `{name}` of `{method.path}` has no text", help=help)
    return texts


def _read_param(c: Checker, decorator: ast.Decorator, name: str | None) -> tuple[str | None, str | None]:
    """Return the name and the text of one `@param`; `name` is that of the parameter it stands before. None in place of what was
    reported (E4009)."""
    values = [a.value for a in decorator.arguments if a.name is None]
    if len(values) != len(decorator.arguments) or len(values) != (2 if name is None else 1):
        form = '`@param("name", "text")`' if name is None else '`@param("text")`'
        c.report("E4009", decorator.span, "`@param` has other arguments here", help=f"write {form}")
        return name, None
    known = [check_value(c, "@param", value, TEXT, constant=True, code="E4009") for value in values]
    texts = [text if isinstance(text, str) else None for text in known]
    return (texts[0], texts[1]) if name is None else (name, texts[0])
