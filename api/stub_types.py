"""Types that stubs of programs name, and that Python has not (P-2.3).

Hands on `Array` to the texts that `stubs` writes. Nothing of it is there to be called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, SupportsIndex, TypeVar

T = TypeVar("T", covariant=True)


class Array(Protocol[T]):
    """What is taken for an Array: a list or a tuple. A str, bytes and a range are none, since they lack one of the methods, or
    take less there."""

    def __contains__(self, item: object, /) -> bool: ...
    def __getitem__(self, at: SupportsIndex, /) -> T: ...
    def __iter__(self) -> Iterator[T]: ...
    def __len__(self) -> int: ...
    def __mul__(self, times: SupportsIndex, /) -> Any: ...
