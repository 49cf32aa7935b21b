"""Agents and `listen` in the checker (O-7.1 to O-7.3, O-7.32 to O-7.35, O-3.26)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from concerto.compiler.checker.program import check_project
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.project import load, no_files

A = "agent A { connector: a } schema S { a: Int } "
LISTEN = 'fn main() { let r = listen A.execute("x") { %s }; print(r); }'
CASES = [
    ("W0401", "agent A { connector: «a } fn main() { }"),
    ("W0401", 'agent A { connector: «"a" } fn main() { }'),
    ("E4002", "agent «A { } fn main() { }"),
    ("E4004", "agent A { connector: «1 } fn main() { }"),
]
MESSAGES = [
    ('"p" => |m| { print(m.a, m.type); }', []),
    ('"p" => |m: S| { print(m.a); }', []),
    ('"p" => |m: Any| { print(m); }', []),
    ('"p" => |m: Int| { print(m); }', ["E4022"]),
    ('"p" => || { nil }', ["E2006"]),
    ('"response" => |_m| { nil }', ["E4060"]),
    ('"p" => |_m| { nil }, "p" => |_m| { nil }', ["E4060"]),
    ('"p" => |_m| { return 1; }', ["E4050"]),
    ('"p" => |m| { m.a?; throw "x"; }', []),
]


@pytest.mark.parametrize(("codes", "text"), CASES)
def test_declarations(codes: str, text: str, expect: Callable[[str, str], None]) -> None:
    expect(codes, text)


def codes_of(text: str, agents: dict[str, dict[str, object]] | None) -> list[str]:
    diagnostics = Diagnostics()
    project = load("main.conc", text.encode(), no_files, diagnostics)
    project.agents = agents
    check_project(project, diagnostics)
    return [found.code for found in diagnostics.ordered()]


@pytest.mark.parametrize(("handlers", "codes"), MESSAGES)
def test_handlers(handlers: str, codes: list[str]) -> None:
    assert codes_of(A + LISTEN % handlers, {"a": {"command": "x"}}) == codes


def test_a_manifest_names_the_connectors() -> None:
    text = "agent A { connector: builder } fn main() { }"
    assert codes_of(text, {"builder": {"command": "x"}}) == []
    assert codes_of(text, {"other": {"command": "x"}}) == codes_of(text, {}) == ["E4003"]
    assert codes_of(text, None) == ["W0401"]


@pytest.mark.parametrize("call", ["with_tools([])", "without_tools()", 'stream("x")', "chat([])"])
def test_what_agents_do_not_have(call: str) -> None:
    text = A + f"fn main() {{ A.{call}; let b = A.with_context(1); b.{call}; }}"
    assert codes_of(text, {"a": {}}) == ["E4041", "E4041"]


def test_agents_are_values() -> None:
    text = A + """
fn ask(a: Agent, b: ModelBuilder) -> Result<String, AgentError> { Ok(a.execute("x")?.text + b.execute("y")?.text) }
fn main() { let r: AgentRef = A; ask(r, r.with_memory(nil))?; }
"""
    assert codes_of(text, {"a": {}}) == []
