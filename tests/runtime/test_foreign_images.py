"""Images that no compiler of ours has made: what the verifier does not look at is checked before it is used (O-0.4, G-2.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.agents.messages import AgentSettings
from concerto.runtime.errors import ConfigFailure
from concerto.runtime.host import Host
from concerto.runtime.session.session import Outcome, Session, run_offline
from concerto.vm.bytecode.image import Image
from concerto.vm.interp.link import load_image

PIPELINE = """
fn first(x: Int) -> Result<Int, String> { Ok(x + 1) }
fn other(x: Int) -> Int { x }
pipeline P(x: Int) -> Int {
    @timeout(5) @retry(max: 2) @log
    stage one(x: Int) -> Int { first(x)? }
}
fn main() { emit("value", other(P.run(1).unwrap())); }
"""


def image_of(source: str) -> Image:
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, compiled.diagnostics.ordered()
    return compiled.image


def run(image: Image, emits: list[Any] | None = None) -> Outcome:
    def emit(channel: str, value: Any, by_runtime: bool) -> None:
        if emits is not None and not by_runtime:
            emits.append(value)

    host = Host(
        emit=emit, print=lambda text: None, env={}, now=lambda: 0.0, sleep=None, random=lambda: 0.5, offline=True,
    )  # fmt: skip
    return run_offline(Session(load_image(image), host))


def decorated(*decorators: list[Any]) -> Image:
    image = image_of(PIPELINE)
    image.pipelines[0].stages[0][3] = list(decorators)
    return image


def test_the_program_itself_runs() -> None:
    emits: list[Any] = []
    assert run(image_of(PIPELINE), emits).panic is None
    assert emits == [2]


WRONG = [
    ("E4001", ["cash", {}]),
    ("E4001", ["retry", {"del!y_ms": 200}]),
    ("E4004", ["retry", {"max": 0}]),
    ("E4009", ["retry", {"max": None}]),
    ("E4004", ["timeout", {"seconds": "x"}]),
    ("E4009", ["timeout", {}]),
    ("E4004", ["log", {"channel": 1}]),
]


@pytest.mark.parametrize(("code", "decorator"), WRONG)
def test_decorators_of_stages_and_agents(code: str, decorator: list[Any]) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: run(decorated(decorator)),
        lambda: AgentSettings("A", {"connector": "a"}, dict([decorator]), {}),
    ]
    for make in makers:
        with pytest.raises(ConfigFailure) as refused:
            make()
        assert refused.value.code == code


def test_a_stage_whose_function_gives_no_result() -> None:
    image = image_of(PIPELINE)
    image.pipelines[0].stages[0][4] = next(n for n, f in enumerate(image.functions) if f.name.endswith("other"))
    panic = run(image).panic
    assert panic is not None
    assert (panic.code, panic.message) == ("P007", "expected Result, found Int")


@pytest.mark.parametrize("fields", [{}, {"connector": None}])
def test_an_agent_without_connector(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigFailure, match="lacks connector"):
        AgentSettings("A", fields, {}, {})
