"""`--bless`: goldens are rewritten instead of compared (`make bless`)."""

from __future__ import annotations

import gc
import os
import sys

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None)  # a busy machine is no failure
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite goldens instead of comparing with them")


def pytest_collection_finish() -> None:
    """Take what modules and collected tests hold, and keep to the end, from Python's collector, so that no test waits for it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands keep translated code where no other run of the tests looks."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def nothing_known_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process knows of an address is not of the server that a test starts: ports are used again."""
    options = sys.modules.get("concerto.api.options")
    if options is not None:
        monkeypatch.setattr(options, "_BREAKERS", type(options._BREAKERS)())
        monkeypatch.setattr(options, "_PROMPT_CACHES", type(options._PROMPT_CACHES)())


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--bless"))
