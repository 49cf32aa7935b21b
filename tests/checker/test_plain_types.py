"""Which types have nothing inside that a write could reach: their values are never marked as shared."""

from __future__ import annotations

import pytest
from concerto.compiler import types as t
from concerto.compiler.codegen.generator import is_plain


@pytest.mark.parametrize("type_", [t.INT, t.STRING, t.NIL])
def test_plain_types_and_what_may_be_nil(type_: t.Type) -> None:
    assert is_plain(type_) and is_plain(t.Nilable(type_)) and is_plain(t.Nilable(t.Nilable(type_)))
    assert not is_plain(t.array(type_)) and not is_plain(t.Nilable(t.array(type_)))
