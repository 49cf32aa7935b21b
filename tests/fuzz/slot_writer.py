"""A process that changes slots of a store that others change at the same time: `slot_writer.py KIND PLACE WRITER COUNT`.

`PLACE` is a file, or the address of a server and behind a blank what separates one run from others. It begins when it gets a
line.
"""

from __future__ import annotations

import sys
from typing import Any

import concerto

PROGRAM = """
    context C {
        persistent {
            mut n: Int = 0,
            mut list: Array<String> = [],
        }
    }
    memory m: Memory = Memory::new().store("durable").context(C);
    pub fn add(count: Int) { for _n in 0..count { m.n += 1; } }
    pub fn push(writer: String, count: Int) { for n in 0..count { m.list.push("${writer}:${n}"); } }
    pub fn mixed(writer: String, count: Int) reads m.n, m.list {
        for n in 0..count {
            if n % 2 == 0 { m.n += 1; } else { m.list.push("${writer}:${n}"); }
        }
    }
    pub fn held() -> (Int, Array<String>) { (m.n, m.list) }
"""


def store_of(kind: str, place: str) -> Any:
    if kind == "sqlite":
        from concerto.runtime.memory.stores.sqlite import SqliteStore

        return SqliteStore(place, name="durable")
    url, _, name = place.partition(" ")
    if kind == "postgres":
        from concerto.runtime.memory.stores.postgres import PostgresStore

        return PostgresStore(url, name="durable", schema=name)
    from concerto.runtime.memory.stores.redis import RedisStore

    return RedisStore(url, name="durable", prefix=name)


def main(kind: str, place: str, writer: str, count: int) -> None:
    store = store_of(kind, place)
    with concerto.compile(PROGRAM).session(offline=True, stores={"durable": store}) as session:
        print("ready", flush=True)
        sys.stdin.readline()
        session.call("add", count)
        session.call("push", writer, count)
        session.call("mixed", f"{writer}m", count // 8)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
