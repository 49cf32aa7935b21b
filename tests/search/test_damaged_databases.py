"""O-1.241: tables in PostgreSQL that are damaged, foreign or of another form give a SearchFailure and no other exception, and so
does a server that refuses or goes away."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.search import search_database
from concerto.runtime.search.index import Document, SearchFailure, SearchIndex

from ..memory import servers
from .oracle import unit

VECTOR = unit(*range(1, 17))
DOCUMENTS = [
    Document(f"d{n}", f"sun w{n % 3}", f'{{"n":{n}}}', f"m{n % 2}", unit(*range(n + 1, n + 17))) for n in range(12)
]  # fmt: skip


@contextmanager
def administered(database: Database) -> Iterator[Any]:
    """Another connection, which looks into the schema of the database."""
    with servers.connected(database.url) as connection:
        connection.execute(f"SET search_path TO {database.schema}")
        yield connection


def put(database: Database) -> None:
    with closing(SearchIndex("notes", database)) as index:
        index.put(DOCUMENTS)
        index.remove(["d3"])


def uses(index: SearchIndex) -> list[Callable[[], object]]:
    """Everything that an index can do."""
    return [
        lambda: index.search("sun w2", 50, "m0", VECTOR), lambda: index.documents(), lambda: len(index),
        lambda: index.get("d7"), lambda: index.lacking("m1", 10), lambda: index.search("w2", 50),
        lambda: index.put([Document("d8", "new sun", "1", "m1", VECTOR), Document("e", "w1", "1", "m0", VECTOR)]),
        lambda: index.remove(["d9", "d10"]), index.clear,
        lambda: index.put([Document("z", "sun", "1", "m0", VECTOR)]), lambda: index.search("sun", 5, "m0", VECTOR),
    ]  # fmt: skip


BROKEN = [
    "UPDATE search_index SET form = 0", "ALTER TABLE search_index ALTER form TYPE text", "DROP TABLE search_1_words",
    "DROP TABLE search_1_bits", "DROP TABLE search_1_document", "DROP TABLE search_1_vector", "DROP TABLE search_1_space",
    "DROP TABLE search_1_removed", "ALTER TABLE search_1_document RENAME COLUMN text TO other",
    "ALTER TABLE search_1_words RENAME COLUMN count TO other", "ALTER TABLE search_index ALTER newest TYPE text",
    "UPDATE search_index SET newest = 9223372036854775807", "UPDATE search_index SET removals = -1",
    "ALTER TABLE search_index ALTER size TYPE numeric", "UPDATE search_index SET newest = 0",
    "ALTER TABLE search_1_document ALTER text TYPE text USING 'a text'", "UPDATE search_1_document SET text = '\\xff'",
    "UPDATE search_1_document SET value = '\\xff'",
    "ALTER TABLE search_1_bits ALTER bits TYPE text USING 'bits'", "UPDATE search_1_vector SET vector = '\\x0011'",
    "ALTER TABLE search_1_vector ALTER vector TYPE text USING 'x'", "DELETE FROM search_1_vector",
    "DELETE FROM search_1_document", "ALTER TABLE search_1_space ALTER length TYPE text USING 'x'",
    "UPDATE search_1_bits SET row = row + 1000", "UPDATE search_1_words SET row = row + 1000",
    "ALTER TABLE search_1_bits ALTER row TYPE text USING row || ') --'", "UPDATE search_index SET tokens = 0",
    "UPDATE search_index SET tokens = -3", "UPDATE search_index SET tokens = 9223372036854775807",
    "ALTER TABLE search_index DROP COLUMN tokens", "DELETE FROM search_index", "DROP TABLE search_index",
    "DROP TABLE search_index; CREATE TABLE search_index (page text)",
    "DROP TABLE search_index; CREATE VIEW search_index AS SELECT 1 AS number",
]  # fmt: skip


@pytest.mark.parametrize("statement", BROKEN)
def test_broken_tables(database: Database, statement: str) -> None:
    put(database)
    with administered(database) as connection:
        connection.execute(statement)
    with pytest.raises(SearchFailure) as caught, closing(SearchIndex("notes", database)) as index:
        for use in uses(index)[:7]:
            use()
    assert caught.value.kind == "Corrupt" and "notes in the store shared: " in caught.value.message
    with suppress(SearchFailure), closing(SearchIndex("notes", database)) as index:
        for use in uses(index):
            with suppress(SearchFailure):
                use()


@pytest.mark.parametrize("statement", BROKEN)
def test_tables_that_break_under_an_open_index(database: Database, statement: str) -> None:
    with closing(SearchIndex("notes", database)) as index:
        index.put(DOCUMENTS)
        for use in uses(index)[:6]:
            use()
        with administered(database) as connection:
            connection.execute(statement)
        for use in uses(index):
            with suppress(SearchFailure):
                use()


def test_another_form_is_refused_by_name(database: Database) -> None:
    put(database)
    with administered(database) as connection:
        connection.execute("UPDATE search_index SET form = 7")
    expected = "the index notes in the store shared has form 7, and this version knows form 1: use the version that wrote it, or"
    with pytest.raises(SearchFailure, match=expected) as caught:
        SearchIndex("notes", database)
    assert caught.value.kind == "Version"
    SearchIndex("others", database).close()  # one of our own form stands beside it


def test_a_lock_that_another_one_holds(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is read behind meanwhile, and not waited for without end."""
    monkeypatch.setattr(search_database, "LONGEST_LOCK", 0.05)
    with closing(SearchIndex("notes", database)) as index, administered(database) as connection:
        index.put(DOCUMENTS)
        with connection.transaction():
            connection.execute("SELECT 1 FROM search_index FOR UPDATE")
            for change in (lambda: index.put(DOCUMENTS), lambda: index.remove(["d1"]), index.clear):
                with pytest.raises(SearchFailure, match="lock timeout; another session has held it") as caught:
                    change()
                assert caught.value.kind == "Store"
            assert len(index.search("sun", 20)) == len(index) == 12
        index.clear()
        assert len(index) == 0


def test_a_connection_that_the_server_ended_is_opened_anew(database: Database) -> None:
    with closing(SearchIndex("notes", database)) as index, administered(database) as connection:
        index.put(DOCUMENTS)
        ((own,),) = index._tables.rows("SELECT pg_backend_pid()")
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", [own])
        assert len(index) == 12 and len(index.search("sun", 20)) == 12


def test_a_connection_that_ends_within_a_change_changes_nothing(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SearchIndex("notes", database)) as index, administered(database) as connection:
        index.put(DOCUMENTS)
        put, ((own,),) = SearchIndex._put, index._tables.rows("SELECT pg_backend_pid()")

        def cut_off(index: SearchIndex, rows: Any) -> None:
            put(index, rows)
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", [own])

        with monkeypatch.context() as patched:
            patched.setattr(SearchIndex, "_put", cut_off)
            with pytest.raises(SearchFailure) as caught:
                index.put([Document("new", "moon", "1")])
        assert caught.value.kind == "Store"
        assert len(index) == 12 and index.search("moon", 5) == []
        index.put([Document("new", "moon", "1")])
        assert [hit.id for hit in index.search("moon", 5)] == ["new"]


def test_an_account_without_rights(database: Database) -> None:
    put(database)
    guest = replace(database, url=database.url.replace("concerto@", "reader@"))
    with administered(database) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        with pytest.raises(SearchFailure, match="no schema has been selected.*grant the account of the url") as caught:
            SearchIndex("notes", guest)
        assert caught.value.kind == "Store"
        connection.execute(f"GRANT USAGE ON SCHEMA {database.schema} TO reader")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {database.schema} TO reader")
    with closing(SearchIndex("notes", guest)) as index:
        assert len(index.search("sun", 20)) == 11
        with pytest.raises(SearchFailure, match="permission denied.*grant the account of the url") as caught:
            index.put(DOCUMENTS)
        assert caught.value.kind == "Store"
    with pytest.raises(SearchFailure, match="permission denied"):
        SearchIndex("others", guest)


@pytest.mark.parametrize("url", ["foo://u:secret@x", "postgresql://u:secret@127.0.0.1:{port}/d", "postgresql://\udc80", ""])
def test_no_server(url: str) -> None:
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(SearchFailure) as caught:
        SearchIndex("notes", Database(url.format(port=port), "shared"))
    assert caught.value.kind == "Store" and "shared" in caught.value.message and "secret" not in caught.value.message


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SearchFailure, match="store shared: psycopg is not installed: .* install") as caught:
        SearchIndex("notes", Database("postgresql://u@h/d", "shared"))
    assert caught.value.kind == "Store"


def test_a_server_that_never_answers_is_given_up() -> None:
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=1"
        with pytest.raises(SearchFailure, match="the server does not answer"):
            SearchIndex("notes", Database(url, "shared"))
