"""Stores whose files and rows somebody has changed (G-12.9, G-12.10): a program that uses one ends as the language says, with
what was stored, or with an error of its own; never with an exception of Python, never with a memory that has become shorter.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import traceback
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.memory.stores.sqlite import SqliteStore

from ..memory import servers
from .campaign import Campaign, Figures
from .mutation import change_bytes

PROGRAM = concerto.compile("""
    use std::media;
    model M { provider: offline }
    memory log: Memory = Memory::new().store("durable").window(6, low: 4).tools();
    pub fn fill() -> Result<Int, Error> {
        M.with_memory(log).execute(Prompt::new("look").with(media::bytes("document", Bytes::from_string("a note"))?))?;
        for n in 0..4 { M.with_memory(log).execute("question ${n}")?; log.append("user", "note ${n}"); }
        log.pin("system", "Be brief.");
        log.remember("name", {"first": "Ada", "n": [1, 2.5, nil]});
        log.relate("Ada", "knows", "Bob");
        log.observe("topic", {"a": 1});
        Ok(log.len())
    }
    pub fn read() -> Int { log.messages().len() }
    pub fn look() -> Int {
        log.view("q").len() + log.turns().len() + log.entries(2).len() + log.last(3).len() + log.tokens() + log.stats().len()
            + log.dump().len() + log.recall("Ada").len() + log.neighbors("Ada").len() + log.appended().len()
    }
    pub fn write() -> Int { log.append("user", "more"); log.len() }
    pub fn ask() -> Result<Int, Error> { M.with_memory(log).execute("and now?")?; Ok(log.len()) }
    pub fn erase() -> Result<Int, Error> { log.erase()?; Ok(log.len()) }
""")
MESSAGES = 15
HOSTILE = (
    None, 0, 1, -1, 2**63 - 1, -(2**63), 2**53, 1.5, float("inf"), "", "abc", "9", b"", b"\xff\xfe", b"j", b"j[]", b"j{}", b"z",
    b"z\0\0", b"j" + b"[" * 5_000, "[" * 5_000, "{}", "[]", '{"a":1}', "null", b"null", "\0", "x" * 5_000, b"\x01\0\0\0\1x",
)  # fmt: skip
TABLES = ("meta", "log", "entry", "turn", "view", "fact", "seen", "changed", "lease", "blob", "media")


def used(store: Any, place: str) -> str:
    """How a program that uses the store ends: "whole", or the code or variant of its error. The store is closed then."""
    with PROGRAM.session(offline=True, budgets=concerto.Budgets(seconds=20)) as session:
        session._session.open_stores.open["durable"] = store  # not as one of a host, whose exceptions would be caught
        ends = [ended(session, function, place) for function in ("read", "look", "write", "ask", "read")]
        for at, expected in ((0, MESSAGES), (4, None)):
            if isinstance(ends[at], int) and (ends[at] < MESSAGES if expected is None else ends[at] != expected):
                raise AssertionError(f"{place}: {ends[at]} messages where {MESSAGES} were stored")
        ended(session, "erase", place)
    return next((end for end in ends if isinstance(end, str)), "whole")


def ended(session: Any, function: str, place: str) -> int | str:
    try:
        return int(session.call(function))
    except concerto.Panic as panic:
        if panic.code not in ("P451", "P452"):
            raise AssertionError(f"{place}: {function}: {panic}") from None
        return panic.code
    except concerto.ProgramError as error:
        return str(error.error.variant)
    except Exception:
        raise AssertionError(f"{place}: {function}: {traceback.format_exc()}") from None


def filled(path: Path) -> bytes:
    store = SqliteStore(str(path), name="durable")
    with closing(store), PROGRAM.session(offline=True, stores={"durable": store}) as session:
        assert session.call("fill") == MESSAGES
    return path.read_bytes()


def cases(seed: int, count: int, change: Any, folder: Path) -> Figures:
    found: Counter[str] = Counter()
    whole = filled(folder / "whole.db")
    for case in range(count):
        rng = random.Random(f"{seed}-{case}")
        path = folder / "memory.db"
        path.write_bytes(whole)
        what = change(path, rng)
        place = f"case {case} of seed {seed}: {what}"
        try:
            store = SqliteStore(str(path), name="durable")
        except concerto.runtime.memory.failures.MemoryFailure as failure:
            found[failure.variant] += 1
        else:
            found[used(store, place)] += 1
        for left in folder.glob("memory.db*"):
            left.unlink()
    return dict(found)


def of_bytes(path: Path, rng: random.Random) -> str:
    data = bytearray(path.read_bytes())
    kind = rng.randrange(5)
    if kind == 0:
        del data[rng.choice((0, 1, 99, 100, 4096, rng.randrange(len(data)), rng.randrange(len(data) // 4096) * 4096)) :]
    elif kind == 1:
        at = rng.randrange(len(data) // 4096) * 4096
        data[at : at + 4096] = bytes(4096) if rng.random() < 0.5 else rng.randbytes(4096)
    elif kind == 2:
        one, other = (rng.randrange(len(data) // 4096) * 4096 for _ in range(2))
        data[one : one + 4096], data[other : other + 4096] = data[other : other + 4096], data[one : one + 4096]
    else:
        for _ in range(rng.randint(1, 8)):
            change_bytes(data, rng)
    path.write_bytes(data)
    return f"bytes, kind {kind}"


def of_rows(path: Path, rng: random.Random) -> str:
    said = []
    with closing(sqlite3.connect(path)) as other:
        for _ in range(rng.choice((1, 1, 2))):
            table = rng.choice(TABLES)
            columns = [row[1] for row in other.execute(f"PRAGMA table_info({table})")]
            column, value = rng.choice(columns), rng.choice(HOSTILE)
            if rng.random() < 0.15:
                statement, values = f"DELETE FROM {table}", ()
            else:
                statement, values = f"UPDATE OR REPLACE {table} SET {column} = ?", (value,)
            if table in ("entry", "turn", "fact") and rng.random() < 0.7:
                name = {"entry": "seq", "turn": "n", "fact": "id"}[table]
                statement += f" WHERE {name} = {rng.randrange(6)}"
            said.append(f"{statement} {values!r:.80}")
            try:
                other.execute(statement, values)
            except (sqlite3.Error, OverflowError):
                said.append("(refused)")
        other.commit()
    return "; ".join(said)


def sqlite_files(seed: int, count: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return cases(seed, count, of_bytes, Path(folder))


def sqlite_rows(seed: int, count: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return cases(seed, count, of_rows, Path(folder))


def postgres_rows(seed: int, count: int) -> Figures:
    try:
        servers.postgres_programs()
        import psycopg
        from concerto.runtime.memory.stores.postgres import PostgresStore
    except (pytest.skip.Exception, ImportError):
        return {"servers": "none here"}
    found: Counter[str] = Counter()
    with servers.postgres_url() as url, psycopg.connect(url, autocommit=True) as other:
        store = PostgresStore(url, name="durable", schema="memory")
        with closing(store), PROGRAM.session(offline=True, stores={"durable": store}) as session:
            assert session.call("fill") == MESSAGES
        other.execute("CREATE SCHEMA kept")
        for table in TABLES:
            other.execute(f"CREATE TABLE kept.{table} AS TABLE memory.{table}")
        for case in range(count):
            for table in TABLES:
                other.execute(f"TRUNCATE memory.{table}; INSERT INTO memory.{table} SELECT * FROM kept.{table}")
            place = f"case {case} of seed {seed}: {changed_rows(other, random.Random(f'{seed}-{case}'))}"
            try:
                store = PostgresStore(url, name="durable", schema="memory")
            except concerto.runtime.memory.failures.MemoryFailure as failure:
                found[failure.variant] += 1
            else:
                found[used(store, place)] += 1
    return dict(found)


SUITABLE = {"bigint": int, "integer": int, "bytea": bytes, "text": str}


def changed_rows(other: Any, rng: random.Random) -> str:
    """Rows of one or two tables, by statements of which the server may refuse some; the values are of the types of their columns,
    as nothing else gets in."""
    columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'memory' AND table_name = %s"
    said = []
    for _ in range(rng.choice((1, 1, 2))):
        table = rng.choice(TABLES)
        column, kind = rng.choice(sorted(other.execute(columns, [table]).fetchall()))
        value = rng.choice([one for one in HOSTILE if one is None or isinstance(one, SUITABLE[kind])])
        statement, values = f"UPDATE memory.{table} SET {column} = %s", [value]
        if rng.random() < 0.15:
            statement, values = f"DELETE FROM memory.{table}", []
        elif table in ("entry", "turn", "fact") and rng.random() < 0.7:
            statement += f" WHERE {({'entry': 'seq', 'turn': 'n', 'fact': 'id'})[table]} = {rng.randrange(6)}"
        said.append(f"{statement} {values!r:.80}")
        try:
            other.execute(statement, values)
        except other.Error as refused:
            said.append(f"(refused: {refused!s:.40})")
    return "; ".join(said)


def redis_values(seed: int, count: int) -> Figures:
    try:
        servers.redis_server()
        from concerto.runtime.memory.stores.redis import RedisStore
    except (pytest.skip.Exception, ImportError):
        return {"servers": "none here"}
    found: Counter[str] = Counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(servers.redis_url(folder))
        for case in range(count):
            rng = random.Random(f"{seed}-{case}")
            store = RedisStore(url, name="durable", prefix=f"c{case}")
            with PROGRAM.session(offline=True, stores={"durable": store}) as session:
                assert session.call("fill") == MESSAGES
            what = changed_value(store._server, f"c{case}", rng)
            found[used(store, f"case {case} of seed {seed}: {what}")] += 1
    return dict(found)


def changed_value(server: Any, prefix: str, rng: random.Random) -> str:
    """One value of one key, or the key itself."""
    names = sorted(name for name in server.keys(f"{prefix}:*") if b":keys" not in name)
    name = rng.choice(names)
    kind = server.type(name)
    value = rng.choice([one for one in HOSTILE if isinstance(one, str | bytes | int)])
    if rng.random() < 0.25:
        server.delete(name)
        return f"{name!r} evicted"
    if rng.random() < 0.1:
        server.delete(name)
        server.set(name, value)
    elif kind == b"string":
        server.set(name, value)
    elif kind == b"hash":
        server.hset(name, rng.choice(server.hkeys(name)), value)
    elif kind == b"zset":
        if rng.random() < 0.5:
            server.zadd(name, {value: rng.choice((0, 1, 5, 1e300))})
        else:
            server.zrem(name, rng.choice(server.zrange(name, 0, -1)))
    return f"{name!r} ({kind!r}) = {value!r:.60}"


CAMPAIGNS = [
    Campaign("bytes of SQLite stores", "G-12.10", 30, 20_000, sqlite_files),
    Campaign("rows of SQLite stores", "G-12.10", 25, 20_000, sqlite_rows),
    Campaign("rows of PostgreSQL stores", "G-12.10", 10, 5_000, postgres_rows),
    Campaign("values of Redis stores", "G-12.10", 15, 5_000, redis_values),
]
