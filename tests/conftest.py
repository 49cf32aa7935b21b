"""`--bless`: goldens are rewritten instead of compared (`make bless`)."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None)  # a busy machine is no failure
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite goldens instead of comparing with them")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))
