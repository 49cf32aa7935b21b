"""Where indexes are kept in tests: SQLite, and a real PostgreSQL server, which is started when a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.search.index import SearchIndex

from ..memory import servers

NUMBERS = count(1)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    with servers.postgres_url() as url:
        yield url


@pytest.fixture(scope="session")
def new_database(postgres_url: str) -> Callable[[], Database]:
    """What gives a database without tables."""
    return lambda: Database(postgres_url, "shared", f"schema_{next(NUMBERS)}")


@pytest.fixture
def database(new_database: Callable[[], Database]) -> Database:
    return new_database()


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Database:
    """A place that several indexes share."""
    if request.param == "file":
        return str(tmp_path / "s.db")
    database: Database = request.getfixturevalue("database")
    return database


@pytest.fixture(params=["memory", "database"])
def index(request: pytest.FixtureRequest) -> Iterator[SearchIndex]:
    index = SearchIndex("notes", None if request.param == "memory" else request.getfixturevalue("database"))
    yield index
    index.close()
