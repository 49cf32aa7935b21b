"""What a server may say of a tool (G-9.1, G-9.2), and how large a result may be (G-6.1, G-9.3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from concerto.runtime.mcp.served import MOST_BYTES, Answer, ServedTool, ServerFailure, Signature, offered_tools, value_of
from concerto.runtime.records import TreeBuilder
from concerto.runtime.tools.bindings import _tell_shadowed
from concerto.vm.values import Map

BUILDER: Any = TreeBuilder.__new__(TreeBuilder)  # a result of no declared type is not built with it
LARGEST = "é" * (MOST_BYTES // 2)


def test_a_result_of_one_mebibyte_is_the_last_that_counts() -> None:
    assert value_of(Answer(None, [LARGEST]), None, BUILDER) == LARGEST
    fits = {"k": "x" * (MOST_BYTES - len('{"k": ""}'))}
    assert type(value_of(Answer(fits, []), None, BUILDER)) is Map
    for answer in (Answer(None, [LARGEST, ""]), Answer({"k": fits["k"] + "x"}, []), Answer(fits, ["x"])):
        with pytest.raises(ServerFailure, match="larger than 1048576 bytes"):
            value_of(answer, None, BUILDER)


HIDDEN = chr(0xE0041)


def test_what_nobody_sees_is_taken_out_of_all_that_a_tool_says_of_itself() -> None:
    schema = {"type": "object", f"k{HIDDEN}": [f"v{HIDDEN}\ud800"]}
    tool = ServedTool(f"page{HIDDEN}", f"Looks{HIDDEN}", schema)
    assert (tool.name, tool.description, tool.schema) == ("page", "Looks", {"type": "object", "k": ["v\ufffd"]})
    assert offered_tools("Wiki", [], [tool])[0][0].name == "page"
    assert tool.digest == ServedTool("page", "Looks", {"type": "object", "k": ["v\ufffd"]}).digest


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"items": value}
    return value


def test_a_schema_is_json_within_the_bounds_of_all_json() -> None:
    assert ServedTool("t", "", nested(64)).refused is None
    numbers = (float("nan"), float("-inf"), 10**400, 10**5000)
    for schema in (nested(65), nested(50_000), *({"enum": [number]} for number in numbers)):
        tool = ServedTool("t", "", schema)
        offered, refused = offered_tools("Wiki", [], [tool, ServedTool("u", "", {})])
        assert [each.name for each in offered] == ["u"]
        assert refused == [f"tool t of mcp Wiki is refused: {tool.refused}"]
        assert tool.refused is not None and tool.refused.startswith("its schema is no JSON: ")
        assert len(tool.digest) == 64
        with pytest.raises(ServerFailure, match="mcp Wiki, tool t: its schema is no JSON: "):
            offered_tools("Wiki", [Signature(["t", "Wiki__t", None, ["object", "", False, []], []])], [tool])


def test_a_tool_whose_name_is_taken_is_told_of() -> None:
    """G-9.6: of several tools of one name a model gets the first."""
    logged: list[str] = []
    run: Any = SimpleNamespace(warn=logged.append)

    def binding(owner: str, name: str) -> Any:
        return SimpleNamespace(owner=owner, definition=SimpleNamespace(name=name))

    _tell_shadowed(run, [binding("A", "A__b__c"), binding("B", "B__d")], [binding("A__b", "A__b__c"), binding("B", "B__d")])
    assert logged == ["tool A__b__c of mcp A__b is refused: A has a tool of that name"]
