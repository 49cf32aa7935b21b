"""Run stores of both kinds behind one fixture; the server is started when a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ..memory import servers
from .places import Place


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    with servers.postgres_url() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path, None if request.param == "sqlite" else request.getfixturevalue("postgres_url"))) as place:
        yield place


@pytest.fixture
def database(tmp_path: Path, postgres_url: str) -> Iterator[Place]:
    with closing(Place(tmp_path, postgres_url)) as place:
        yield place
