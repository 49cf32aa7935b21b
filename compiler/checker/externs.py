"""Functions of Python in a program: `extern python "MODULE" { fn … ; }` (P-1.1, P-1.2).

Hands on `check_extern` to `declaration_checks`. Such a function is one of the program in every other respect: its
parameters, defaults and result are checked where those of all functions are. Mistakes are reported to `c` and not raised. No
module is looked for here: that a function is missing there, a run finds out, or `concerto check --python`.
"""

from __future__ import annotations

from ..symbols import FunctionSymbol
from ..syntax import ast
from ..types import (
    ANY,
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NIL,
    RANGE,
    STRING,
    Function,
    Generic,
    Nilable,
    Nominal,
    Tuple,
    Type,
    Union,
    of_host,
)
from .decorators import check_decorators
from .json_shapes import COLLECTIONS, shape_parts
from .relations import ERRONEOUS
from .state import Checker
from .tool_arguments import parameter_texts

SCALARS = (STRING, INT, FLOAT, BOOL, NIL, ANY, BYTES)
HELP = "what crosses are texts, numbers, Bool, Bytes, Array, Map, tuples, Option, `T?`, structs, schemas, enums and Any"


def check_extern(c: Checker, symbol: FunctionSymbol) -> None:
    """Check a function of Python: names that Python can look up (E4004), types that cross (E4020), and its decorators (E4001,
    E4009, and what `parameter_texts` reports), which `symbol.extern_decorators` then has by name with their arguments. The block
    of the function must be set (`symbol.extern`); its module is checked with the first function of it."""
    node, block = symbol.declaration, symbol.extern
    assert block is not None
    if block.functions[0] is node:
        _check_path(c, block.module, "a module of Python is named", "package.module")
    if node.foreign_name is not None:
        _check_path(c, node.foreign_name, "a function of a module is named", "name` or `Class.method")
    for parameter, type_ in zip(node.parameters, symbol.parameters, strict=True):
        if parameter.type is not None:
            _check_type(c, parameter.type, type_, is_result=False)
    if node.result is not None:
        gives = symbol.result.arguments[0] if isinstance(symbol.result, Generic) and of_host(symbol.result) else symbol.result
        _check_type(c, node.result, gives, is_result=True)
    parameter_texts(c, symbol, required=False)
    own = [decorator for decorator in node.decorators if decorator.name.text != "param"]
    symbol.extern_decorators = check_decorators(c, own, "extern fn")
    for decorator in own if of_host(symbol.result) else ():
        if decorator.name.text == "retry":
            message = f"`@retry` cannot stand on `{symbol.name}`, which gives a Stream: what has come cannot be taken back"
            c.report("E4009", decorator.span, message, help="remove it")


def _check_path(c: Checker, written: ast.StringLiteral, what: str, example: str) -> None:
    if not all(part.isidentifier() for part in written.value.split(".")):
        c.report("E4004", written.span, f"{what} by names with dots between them", help=f"write `{example}`")


def _check_type(c: Checker, written: ast.TypeExpr, type_: Type, *, is_result: bool) -> None:
    offending = crossing_part(c, type_, is_result=is_result)
    if offending is None or offending is ERRONEOUS:
        return
    if isinstance(offending, Function):
        help = "a function goes to Python as an argument, and none comes back"
    else:
        help = HELP
    c.report("E4020", written.span, f"`{offending}` cannot cross to Python and back", help=help)


def crossing_part(c: Checker, type_: Type, *, is_result: bool) -> Type | None:
    """Return a part of a type, or the type itself, of which no value crosses to Python, or with `is_result` from there; None if
    all of them do. Of a function that is an argument its parameters come from Python and its result goes there."""
    todo: list[tuple[Type, bool]] = [(type_, is_result)]
    seen: set[tuple[Type, bool]] = set()
    while todo:
        at, comes_back = todo.pop()
        if (at, comes_back) in seen or at in SCALARS or isinstance(at, Union) or (at == RANGE and not comes_back):
            continue
        seen.add((at, comes_back))
        if isinstance(at, Generic) and at.name in COLLECTIONS:
            parts = [(part, comes_back) for part in at.arguments if not _is_error(part)]
        elif isinstance(at, Tuple):
            parts = [(part, comes_back) for part in at.items]
        elif isinstance(at, Nilable):
            parts = [(at.inner, comes_back)]
        elif isinstance(at, Function) and not comes_back:
            parts = [*((part, True) for part in at.parameters), (at.result, False)]
        elif isinstance(at, Nominal) and at.kind in ("struct", "schema", "enum", "record"):
            parts = [(part, comes_back) for part in shape_parts(c, at)]
        else:
            return at
        todo += parts
    return None


def _is_error(type_: Type) -> bool:
    """Return whether a type is a built-in family of errors, which has a class of its own in Python."""
    return isinstance(type_, Nominal) and type_.kind == "error"
