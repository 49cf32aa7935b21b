"""The schema of a PostgreSQL store: sessions that create it at the same moment, and an account that may not create one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.postgres import PostgresStore

SESSIONS = 8


@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
def test_a_schema_is_created_once_by_sessions_that_start_together(postgres_url, isolation):
    url = f"{postgres_url}?options=-cdefault_transaction_isolation%3D{isolation.replace(' ', '%5C%20')}"
    together = Barrier(SESSIONS)

    def opened(schema: str) -> None:
        together.wait()
        PostgresStore(url, schema=schema).close()

    for number in range(20):
        with ThreadPoolExecutor(SESSIONS) as pool:
            list(pool.map(opened, [f"together_{isolation[0]}_{number}"] * SESSIONS))


def test_an_account_without_the_right_to_create_schemas_uses_one_that_is_there(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    PostgresStore(postgres_url, schema="given").close()
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE guest LOGIN")
        owner.execute("GRANT USAGE, CREATE ON SCHEMA given TO guest")
        owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA given TO guest")
    url = postgres_url.replace("concerto@", "guest@")
    with closing(PostgresStore(url, schema="given")) as store:
        Memory(Policy(), name="chat", store=store).append("user", "x")
    with pytest.raises(MemoryFailure, match="permission denied"):
        PostgresStore(url, schema="another")
