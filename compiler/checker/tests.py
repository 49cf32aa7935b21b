"""Tests in the checker (O-8.1 to O-8.4, O-8.26): the form of a function with `@test`, its cases, and that no code calls it.

Hands on `check_test` to `declaration_checks`, and `refuse_test` to `calls` and `expressions`. What `@test` says ends up in
`FunctionSymbol.test`, a `TestInfo`, of which codegen makes the entries of the image. What is wrong is reported to `c`, the state
of the check, by a code, and not raised. No test runs here; what a test answers in place of a model is the matter of `mocks`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..source import Span
from ..symbols import (
    FunctionSymbol,
    TestInfo,
)
from ..syntax import ast
from .declarations import at_module_level, folded
from .decorators import Checked
from .state import Checker, Expected


def check_test(c: Checker, symbol: FunctionSymbol, decorators: Checked) -> None:
    """Set `symbol.test` to what `@test` and `@expect_fail` among the checked `decorators` say; report a test of another form
    (E4070), cases that do not fit or are not constant (E4009, E2009, E2033, E3012), and `@expect_fail` alone (E4071), which
    makes no test."""
    by_name = dict(decorators)
    node = symbol.declaration
    if "test" not in by_name:
        if "expect_fail" in by_name:
            at = next(d.span for d in node.decorators if d.name.text == "expect_fail")
            c.report("E4071", at, "`@expect_fail` stands without `@test`", help="write `@test` too")
        return
    written = by_name["test"].get("cases")
    if (node.parameters and written is None) or node.result is not None or node.type_parameters:
        what = "a result type" if node.result is not None else "type parameters" if node.type_parameters else "parameters"
        example = ", ".join("…" for _ in node.parameters)
        example = f"({example})" if len(node.parameters) > 1 else example
        with_cases = f"say what they are: `@test(cases: [{example}])`"
        help = with_cases if what == "parameters" else f"write `fn {symbol.name}() {{ … }}`"
        c.report("E4070", node.name.span, f"the test `{symbol.name}` has {what}", help=help)
    description = str(by_name["test"].get("description", symbol.name))
    part = by_name.get("expect_fail", {}).get("part")
    symbol.test = TestInfo(description, "expect_fail" in by_name, None if part is None else str(part))
    if isinstance(written, ast.Expr):
        symbol.test.cases = list(_read_cases(c, symbol, written))


def _read_cases(c: Checker, symbol: FunctionSymbol, written: ast.Expr) -> Iterator[tuple[str, list[ast.Expr]]]:
    """Yield of each case its text and its arguments; E4009 for what is no list of them, E4070 without parameters (O-8.26)."""
    parameters = symbol.declaration.parameters
    if not isinstance(written, ast.ArrayExpr) or not written.items:
        message = "`cases` is an array literal of at least one case"
        c.report("E4009", written.span, message, help="write `cases: [(1, 2), (3, 4)]`")
        return
    if not parameters:
        help = f"write `fn {symbol.name}(x: Int) {{ … }}`, or drop `cases`"
        c.report("E4070", written.span, f"the test `{symbol.name}` has cases and no parameters", help=help)
        return
    for item in written.items:
        # A test of one parameter takes a tuple as its value.
        arguments = item.items if isinstance(item, ast.TupleExpr) and len(parameters) > 1 else [item]
        if len(arguments) != len(parameters):
            message = f"the case has {_count_of_values(len(arguments))}, the test `{symbol.name}` takes {len(parameters)}"
            help = "write `(" + ", ".join(parameter.name.text for parameter in parameters) + ")`"
            c.report("E4009", item.span, message, help=help)
            continue
        for parameter, type_, argument in zip(parameters, symbol.parameters, arguments, strict=True):
            at_module_level(c, argument, Expected(type_, "E2009", f"`{parameter.name.text}`"))
            # Only to test that it is constant.
            folded(c, argument, "E4009")
        yield _text_of_case(c, item), arguments


def _count_of_values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _text_of_case(c: Checker, item: ast.Expr) -> str:
    """Return a case as it is written, on one line."""
    source = c.sources[item.span.file].text
    return " ".join(source[item.span.start : item.span.end].split())


def refuse_test(c: Checker, symbol: FunctionSymbol, span: Span) -> None:
    """Report a use of a test, which only the test runner calls (E4073, O-8.4)."""
    if symbol.is_test:
        c.report("E4073", span, f"`{symbol.name}` is a test; nothing calls it", help="move what is shared into a function")
