"""A plugin of pytest: notes after each test what it reached, with what its fixtures reached."""

from __future__ import annotations

import time

import pytest

from .reach import Reach, note

REACH = Reach()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    note("", REACH.taken())
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        note(item.nodeid, REACH.taken(), time.perf_counter() - start)
