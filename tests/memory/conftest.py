"""Every store behind one fixture; servers are started once a session, and only when a test asks for them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore

from . import servers


@contextlib.contextmanager
def closing_all():
    """What takes the stores that a test opens; they are closed behind it."""
    with contextlib.ExitStack() as stack:
        yield lambda store: stack.enter_context(contextlib.closing(store))


@pytest.fixture
def opened():
    with closing_all() as opened:
        yield opened


KINDS = ("volatile", "sqlite", "postgres", "redis")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory):
    pytest.importorskip("redis", reason="redis is not installed: it is of the extra redis")
    with servers.redis_url(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url():
    pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
    with servers.postgres_url() as url:
        yield url


class Opener:
    """Opens stores of one kind, each time another empty one, or once more the one opened last."""

    def __init__(self, kind: str, folder: Path, url: str | None) -> None:
        self.kind = kind
        self.folder = folder
        self.url = url
        self.opened: list = []
        self.number = 0

    def __call__(self):
        self.number += 1
        return self._open()

    def again(self):
        """Another handle of the same store; a volatile one has only one."""
        return self.opened[-1] if self.kind == "volatile" else self._open()

    def _open(self):
        made = self._make()
        self.opened.append(made)
        return made

    def _make(self):
        if self.kind == "volatile":
            return VolatileStore()
        if self.kind == "sqlite":
            return SqliteStore(str(self.folder / f"{self.number}.db"))
        name = f"t{abs(hash(self.folder))}_{self.number}"
        if self.kind == "postgres":
            from concerto.runtime.memory.stores.postgres import PostgresStore

            return PostgresStore(self.url, schema=name)
        from concerto.runtime.memory.stores.redis import RedisStore

        return RedisStore(self.url, prefix=name)

    def close(self) -> None:
        for store in self.opened:
            store.close()


@pytest.fixture(params=KINDS)
def open_store(request, tmp_path):
    url = request.getfixturevalue(f"{request.param}_url") if request.param in ("postgres", "redis") else None
    opener = Opener(request.param, tmp_path, url)
    yield opener
    opener.close()


@pytest.fixture
def store(open_store):
    return open_store()
