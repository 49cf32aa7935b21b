"""The stores of a session together (M-8.2)."""

from __future__ import annotations

import pytest
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.stores.opened import OpenStores


class Closing:
    """A store that can only be closed."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.closed = 0

    def close(self) -> None:
        self.closed += 1
        if self.failure is not None:
            raise self.failure


def test_a_store_that_cannot_be_closed_leaves_no_other_open() -> None:
    stores = OpenStores({}, {}, "", {})
    first, second, last = Closing(MemoryFailure("Store", "first")), Closing(ValueError("second")), Closing()
    stores.open.update(a=first, b=second, c=last)  # type: ignore[arg-type]
    with pytest.raises(MemoryFailure, match="first"):
        stores.close()
    assert (first.closed, second.closed, last.closed) == (1, 1, 1)
    stores.close()
    assert last.closed == 1
