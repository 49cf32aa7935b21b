"""Handles by name and the immutable builder (L-5.5.4, O-3.17 to O-3.22)."""

from __future__ import annotations

from concerto.vm.values import UNSET, MemoryRef, ModelBuilder, ModelRef, SchemaRef, equal


def test_handles_are_equal_by_kind_and_name() -> None:
    assert ModelRef("M") == ModelRef("M") and hash(ModelRef("M")) == hash(ModelRef("M"))
    assert ModelRef("M") != ModelRef("N") and ModelRef("M") != SchemaRef("M")


def test_each_change_gives_a_new_builder() -> None:
    start = ModelBuilder(ModelRef("M"))
    memory = MemoryRef("log")
    first = start.with_(memory=memory)
    second = first.with_(memory=None, auto=False).with_tools(("A",)).with_tools(("B",)).with_(without_tools=True)
    third = second.with_(context=None)
    assert (start.memory, start.auto, start.context, start.tools, start.without_tools) == (UNSET, True, UNSET, (), False)
    assert (first.memory, first.auto) == (memory, True)
    assert (second.memory, second.auto, second.tools, second.without_tools) == (None, False, ("A", "B"), True)
    assert second.context is UNSET and third.context is None
    assert third.model is start.model


def test_builders_are_equal_by_identity() -> None:
    builder = ModelBuilder(ModelRef("M"))
    assert equal(builder, builder) and not equal(builder, builder.with_())
