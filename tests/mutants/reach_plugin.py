"""A plugin of pytest: notes after each test what it reached, with what its fixtures reached."""

from __future__ import annotations

import time

import pytest

from .reach import from_environment, note

REACH = from_environment()
REACH.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    note("", REACH.taken())
    start = time.perf_counter()
    REACH.start()
    try:
        return (yield)
    finally:
        note(item.nodeid, REACH.taken(), time.perf_counter() - start)
