"""How large a result of a server may be (G-6.1, G-9.3)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.runtime.mcp.served import MOST_BYTES, Answer, ServerFailure, value_of
from concerto.runtime.records import TreeBuilder
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
