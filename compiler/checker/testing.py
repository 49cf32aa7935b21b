"""Tests and mocks: where they stand, what they take (O-8.1 to O-8.14).

Must not know: how tests are run, what a mock answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..resolver.spelling import did_you_mean
from ..source import Span
from ..symbols import AgentSymbol, BuiltinSymbol, FunctionSymbol, McpSymbol, ModelSymbol, TestInfo, ToolSymbol
from ..types import ANY, STRING, Generic, Type, array, map_
from .config import duplicates, unknown_key
from .context import FREE, Checker, Expected
from .declarations import at_module_level, folded
from .decorators import Checked
from .relations import ERRONEOUS
from .scripted import check_script
from .tool_mocks import check_free_answer, check_mock

# What a mock of an agent or a model takes (O-8.11, O-8.12), and what each holds; None: a scripted reply, which the run
# checks (O-8.19 to O-8.22).
ANSWER_FIELDS: dict[str, Type | None] = {"response": None, "responses": array(ANY), "error": STRING}
AGENT_MOCK = {**ANSWER_FIELDS, "messages": array(map_(STRING, ANY))}
MODEL_MOCK = {**ANSWER_FIELDS, "tool_calls": array(ANY)}
ANSWERS = ("response", "responses", "error", "messages")


def check_test(c: Checker, symbol: FunctionSymbol, decorators: Checked) -> None:
    """Notes what `@test` and `@expect_fail` say; E4070, E4071."""
    given = dict(decorators)
    node = symbol.declaration
    if "test" not in given:
        if "expect_fail" in given:
            at = next(d.span for d in node.decorators if d.name.text == "expect_fail")
            c.report("E4071", at, "`@expect_fail` stands without `@test`", help="write `@test` too")
        return
    written = given["test"].get("cases")
    if (node.parameters and written is None) or node.result is not None or node.type_parameters:
        what = "a result type" if node.result is not None else "type parameters" if node.type_parameters else "parameters"
        example = ", ".join("…" for _ in node.parameters)
        example = f"({example})" if len(node.parameters) > 1 else example
        with_cases = f"say what they are: `@test(cases: [{example}])`"
        help = with_cases if what == "parameters" else f"write `fn {symbol.name}() {{ … }}`"
        c.report("E4070", node.name.span, f"the test `{symbol.name}` has {what}", help=help)
    description = str(given["test"].get("description", symbol.name))
    part = given.get("expect_fail", {}).get("part")
    symbol.test = TestInfo(description, "expect_fail" in given, None if part is None else str(part))
    if isinstance(written, ast.Expr):
        symbol.test.cases = list(_cases(c, symbol, written))


def _cases(c: Checker, symbol: FunctionSymbol, written: ast.Expr) -> Iterator[tuple[str, list[ast.Expr]]]:
    """Of each case its text and its arguments; E4009 for what is no list of them, E4070 without parameters (O-8.26)."""
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
        arguments = item.items if isinstance(item, ast.TupleExpr) and len(parameters) > 1 else [item]
        if len(arguments) != len(parameters):
            message = f"the case has {_values(len(arguments))}, the test `{symbol.name}` takes {len(parameters)}"
            help = "write `(" + ", ".join(parameter.name.text for parameter in parameters) + ")`"
            c.report("E4009", item.span, message, help=help)
            continue
        for parameter, type_, argument in zip(parameters, symbol.parameters, arguments, strict=True):
            at_module_level(c, argument, Expected(type_, "E2009", f"`{parameter.name.text}`"))
            folded(c, argument, "E4009")
        yield _text(c, item), arguments


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _text(c: Checker, item: ast.Expr) -> str:
    """As it is written, on one line."""
    source = c.sources[item.span.file].text
    return " ".join(source[item.span.start : item.span.end].split())


def refuse_test(c: Checker, symbol: FunctionSymbol, span: Span) -> None:
    """E4073: only the test runner calls tests (O-8.4)."""
    if symbol.is_test:
        c.report("E4073", span, f"`{symbol.name}` is a test; nothing calls it", help="move what is shared into a function")


def answers_emits(node: ast.Mock) -> bool:
    """Whether it stands in for the host that answers awaited emits (O-8.27)."""
    return isinstance(node.target, BuiltinSymbol) and node.target.name == "emit"


def mock(c: Checker, node: ast.Mock) -> None:
    """O-8.14: a statement of tests, for a model, an agent, a tool or the host."""
    name = node.name.text
    fields = AGENT_MOCK if isinstance(node.target, AgentSymbol) else MODEL_MOCK
    if not any(target.test for target in c.targets):
        c.report("E4072", node.span, "`mock` stands outside a test", help="mark the function with `@test`")
    elif not isinstance(node.target, (ModelSymbol, AgentSymbol, ToolSymbol, McpSymbol)) and not answers_emits(node):
        help = did_you_mean(name, c.mockable) or "a mock stands in for a model, agent, tool, mcp server, or `emit`"
        c.report("E4072", node.name.span, f"`{name}` cannot be mocked", help=help)
    duplicates(c, f"mock `{name}`", [entry.key for entry in node.config])
    if isinstance(node.target, (ToolSymbol, McpSymbol)):
        check_mock(c, node, node.target)
        return
    if answers_emits(node):
        for entry in node.config:
            check_free_answer(c, entry.value, ANY)
        return
    for entry in node.config:
        _entry(c, f"mock `{name}`", entry, fields)
        check_script(c, entry.key.text, entry.value)
    answers = {entry.key.text: entry.key for entry in node.config if entry.key.text in ANSWERS}
    if len(answers) > 1:
        one, other = list(answers.values())[:2]
        c.report(
            "E4001", other.span, f"`{other.text}` and `{one.text}` exclude each other", first=one.span,
            help="keep one of the two",
        )
    elif not node.config:
        help = "give one of " + ", ".join(f"`{field}`" for field in fields)
        c.report("E4002", node.name.span, f"mock `{name}` says nothing", help=help)


def _entry(c: Checker, owner: str, entry: ast.ConfigEntry, fields: dict[str, Type | None]) -> None:
    key = entry.key.text
    if key not in fields:
        unknown_key(c, owner, entry.key, fields)
        c.infer(entry.value)
        return
    wanted = fields[key]
    if wanted is not None:
        c.value(entry.value, Expected(wanted, "E4004", f"`{key}`"))
        return
    found = c.infer(entry.value, Expected(map_(STRING, ANY)) if isinstance(entry.value, ast.MapExpr) else FREE)
    if found is not ERRONEOUS and not _may_be_scripted(found):
        c.report(
            "E4004", entry.value.span, f"`{key}` is a String or a Map, found `{found}`",
            help="write the text of the reply, or `{ \"text\": \"…\" }`",
        )


def _may_be_scripted(found: Type) -> bool:
    if isinstance(found, Generic):
        return found.name == "Map"
    return found in (STRING, ANY)
