"""Memory blocks (M-2.25 to M-2.29): each is the memory that a chain of the same steps declares, over every chain of the suite."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.format import format_source
from concerto.compiler.hints.memory_fields import as_fields
from concerto.compiler.pipeline import Compilation, compile_source
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse
from concerto.vm.bytecode.image import Image
from concerto.vm.memory_steps import FIELDS, OF, STEPS, field_rank

from tests.suite_sources import suite_sources

# What the examples of the steps name.
AROUND = """
model MODEL { provider: offline }
model M { provider: offline }
context Project { persistent { mut bugs: Array<String> = [] } session { mut task: String } }
memory support: Memory = Memory::new();
memory log: Memory = Memory::new();
fn f(messages: Array<Message>) -> Array<Message> { messages }
fn main() {}
"""
BESIDE = {"ttl": '.store("durable")', "decay": '.store("durable")', "context": '.store("durable")', "only": ".summary(MODEL)"}


def compiled(text: str) -> Compilation:
    return compile_source(text.encode(), "t.conc")


def plain(image: Image | None) -> list[Any]:
    """An image without what says where something stands in the source."""
    assert image is not None
    for function in image.functions:
        function.lines = function.hash = b""
    for entries in (image.models, image.schemas, image.tools, image.pipelines, image.tests):
        for entry in entries:
            if hasattr(entry, "hash"):
                entry.hash = b""
    image.source_map = image.source = []
    return [repr(getattr(image, section)) for section in type(image).__slots__]


def codes(compilation: Compilation) -> list[str]:
    return sorted(diagnostic.code for diagnostic in compilation.diagnostics.found)


# From the text of a chain to that of its block, by the trees.


def links(value: ast.Expr) -> tuple[ast.Call | None, list[ast.MethodCall]]:
    """The constructor of a chain and its steps; None for what is no chain of `Memory::new` or `Memory::of`."""
    steps: list[ast.MethodCall] = []
    while isinstance(value, ast.MethodCall):
        steps.append(value)
        value = value.receiver
    is_call = isinstance(value, ast.Call) and isinstance(value.callee, ast.PathExpr)
    path = [segment.text for segment in value.callee.segments] if is_call else []  # type: ignore[attr-defined]
    return (value if path in (["Memory", "new"], ["Memory", "of"]) else None, steps[::-1])  # type: ignore[return-value]


def both_forms(text: str, store: ast.Store) -> tuple[str, str] | None:
    """The declaration with its steps in the order in which they act, and as a block; None for what is no chain of steps, and for
    a type with a context that no step attaches: before a block it does (M-2.28)."""

    def written(node: ast.Node) -> str:
        return text[node.span.start : node.span.end]

    call, steps = links(store.value)
    names = [step.name.text for step in steps]
    has_context = isinstance(store.type, ast.NamedType) and store.type.arguments is not None
    if call is None or not set(names) <= set(STEPS) or (has_context and "context" not in names):
        return None
    in_order = sorted(steps, key=lambda step: field_rank(step.name.text))
    rest = [text[step.receiver.span.end : step.span.end] for step in in_order]
    head = f"memory {store.name.text}: {written(store.type)}"
    fields = []
    for argument in call.arguments:
        of = call.callee.segments[1].text == "of"  # type: ignore[attr-defined]
        label = argument.name.text if argument.name is not None else ""
        fields.append(f"{OF if of else 'tools' if label == 'tools' else 'retain'}: {written(argument.value)}")
    for step in steps:
        leads = iter(STEPS[step.name.text].lead)
        parts = []
        for argument in step.arguments:
            name = argument.name.text if argument.name is not None else next(leads, "")
            parts.append(f"{name}: {written(argument.value)}")
        values = [written(argument) for argument in step.arguments]
        if step.name.text == "per":
            items = [f"{{ {value} }}" if argument.name else value for argument, value in zip(step.arguments, values, strict=True)]
            fields.append(f"per: [{', '.join(items)}]")
        elif not values:
            fields.append(f"{step.name.text}: true")
        elif len(values) == 1 and step.arguments[0].name is None:
            fields.append(f"{step.name.text}: {values[0]}")
        else:
            fields.append(f"{step.name.text}: {{ {', '.join(parts)} }}")
    return f"{head} = {written(call)}{''.join(rest)};", f"{head} {{ {', '.join(fields)} }}"


def in_both_forms(text: str) -> tuple[str, str] | None:
    """A program with its chains, and with blocks in their place; None for one without chains, or that does not parse."""
    diagnostics = Diagnostics()
    program = parse(Source("t.conc", text), diagnostics)
    if diagnostics.has_errors:
        return None
    chains = blocks = text
    for item in reversed(program.items):
        if isinstance(item, ast.Store) and item.kind == "memory" and (forms := both_forms(text, item)) is not None:
            start, end = text.index("memory", item.span.start), item.span.end
            chains = chains[:start] + forms[0] + chains[end:]
            blocks = blocks[:start] + forms[1] + blocks[end:]
    return None if blocks == text else (chains, blocks)


PROGRAMS = {name: forms for name, text in suite_sources().items() if (forms := in_both_forms(text)) is not None}


def test_the_suite_has_many_chains() -> None:
    assert len(PROGRAMS) > 300


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_block_is_the_memory_of_its_chain(name: str) -> None:
    chain, block = (compiled(text) for text in PROGRAMS[name])
    assert codes(block) == codes(chain)
    if chain.image is not None:
        assert plain(block.image) == plain(chain.image)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_layout_of_a_block_is_the_same_program(name: str) -> None:
    """Fields that move change nothing, not even the order in which bounds are computed."""
    before = compiled(PROGRAMS[name][1])
    text = format_source(Source("t.conc", PROGRAMS[name][1]), Diagnostics())
    assert text is not None
    after = compiled(text)
    assert codes(after) == codes(before)
    if before.image is not None:
        assert plain(after.image) == plain(before.image)


# What messages and hovers show of a field.


@pytest.mark.parametrize("step", STEPS)
def test_the_examples_of_a_step_are_legal_in_both_forms(step: str) -> None:
    for example in STEPS[step].example.split(", ."):
        chain = f".{example.removeprefix('.')}{BESIDE.get(step, '')}"
        own = f"memory own: Memory = Memory::new(){chain};"
        block = f"memory own {{ {as_fields(chain)} }}"
        assert [d for d in compiled(own + AROUND).diagnostics.found if d.is_error] == []
        assert [d for d in compiled(block + AROUND).diagnostics.found if d.is_error] == []


def test_every_step_has_its_place_among_the_fields() -> None:
    assert sorted(FIELDS) == sorted([*STEPS, OF])


def test_a_program_may_have_a_type_called_memory() -> None:
    assert codes(compiled("struct Memory { x: Int } memory log { retain: 5 } fn main() { log.append(\"user\", \"a\"); }")) == []
