"""The turn lock between processes: a lease with an owner (M-5.17, M-8.13)."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.memory import locks
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.locks import TurnLocks
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.remote import Remote, one_at_a_time
from concerto.runtime.memory.stores.sqlite import SqliteStore, has_died, owner_name
from concerto.runtime.memory.stores.thread import StoreThread
from concerto.runtime.memory.stores.volatile import VolatileStore


def test_the_lease_orders_processes(tmp_path):
    async def main():
        path = str(tmp_path / "m.db")
        ours, theirs = (Memory(Policy(on_conflict="Serial"), store=SqliteStore(path)) for _ in range(2))
        mine, other = TurnLocks("one"), TurnLocks("two")
        await mine.take(ours)
        with pytest.raises(MemoryFailure):
            await other.take(theirs, timeout=0.1)
        mine.release(ours)
        await other.take(theirs, timeout=5)
        other.release(theirs)
        ours.store.close()
        theirs.store.close()

    asyncio.run(main())


def test_the_lease_of_a_process_that_was_killed_is_taken_at_once(tmp_path):
    path = str(tmp_path / "m.db")
    source = (
        "import sys\nfrom concerto.runtime.memory.stores.sqlite import owner_name\n"
        "from concerto.runtime.memory.stores.sqlite import SqliteStore\n"
        f"SqliteStore({path!r}).acquire(('a', 'main'), owner_name(), 600)\nprint('held', flush=True)\nsys.stdin.read()\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    memory = Memory(Policy(on_conflict="Serial"), store=SqliteStore(path), key=("a", "main"))

    async def main():
        mine = TurnLocks(owner_name())
        with pytest.raises(MemoryFailure):
            await mine.take(memory, timeout=0.1)
        holder.kill()
        await mine.take(memory, timeout=0.1)  # it may be a zombie as yet
        mine.release(memory)

    try:
        asyncio.run(main())
    finally:
        holder.kill()
        holder.communicate()
        memory.store.close()


@pytest.mark.parametrize("owner", ["one", "", "///", "a/1/2/3", f"{owner_name().split('/')[0]}/x/1/2"])
def test_of_a_foreign_owner_nothing_is_known(owner):
    assert not has_died(owner)


def test_a_clock_that_jumps_waits_for_the_lease_in_real_time(tmp_path):
    path = str(tmp_path / "m.db")
    ours, theirs = (Memory(Policy(on_conflict="Serial"), store=SqliteStore(path)) for _ in range(2))
    theirs.store.acquire(theirs.key, "other", 0.3)
    loop = OfflineLoop()
    mine = TurnLocks("one", loop=lambda: loop)

    async def main():
        await mine.take(ours, timeout=60)
        await loop.sleep(0)
        mine.release(ours)
        await loop.sleep(0)

    begun = time.monotonic()
    loop.run_until_complete(main())
    assert time.monotonic() - begun >= 0.25 and loop.time() < 60
    ours.store.close()
    theirs.store.close()


def test_the_queue_and_the_lease_share_one_timeout(tmp_path):
    path = str(tmp_path / "m.db")
    ours, theirs = (Memory(Policy(on_conflict="Serial"), store=SqliteStore(path)) for _ in range(2))
    loop = OfflineLoop(100.0)
    mine = TurnLocks("one", loop=lambda: loop)

    async def other_turn():
        await mine.take(ours)
        await loop.sleep(0.3)
        mine.release(ours)
        theirs.store.acquire(theirs.key, "other", 60)

    async def main():
        job = loop.create_task(other_turn())
        await loop.sleep(0)
        with pytest.raises(MemoryFailure):
            await mine.take(ours, timeout=0.4)
        assert job.done()
        return loop.time()

    assert loop.run_until_complete(main()) < 100.5  # it is looked for the lease every 0.05 s
    ours.store.close()
    theirs.store.close()


def test_a_lease_is_renewed_until_it_is_given_back(tmp_path, monkeypatch):
    assert (locks.LEASE_SECONDS, locks.RENEWED_EVERY) == (60, 20)
    monkeypatch.setattr(locks, "RENEWED_EVERY", 0.01)

    async def main():
        memory = Memory(Policy(on_conflict="Serial"), store=SqliteStore(str(tmp_path / "m.db")))
        held = sqlite3.connect(tmp_path / "m.db")

        def leases():
            return held.execute("SELECT owner, until FROM lease").fetchall()

        mine = TurnLocks("one")
        await mine.take(memory)
        taken = leases()
        async with asyncio.timeout(30):
            while leases() == taken:
                await asyncio.sleep(0.01)
        assert [owner for owner, _ in leases()] == ["one"] and leases() > taken
        mine.release(memory)
        await asyncio.sleep(0.1)
        assert leases() == []
        held.close()
        memory.store.close()

    asyncio.run(main())


class LateFile(SqliteStore):
    """A file whose answer to `acquire` comes late: the lease is taken, and nobody knows it yet."""

    def acquire(self, *arguments):
        self._thread.aside()
        taken = super().acquire(*arguments)
        self._thread.wait(lambda: time.sleep(0.2))
        return taken

    def leases(self):
        return self._rows("SELECT owner FROM lease")


class LateServer(VolatileStore):
    """A server that does what it was asked to do long after the asker has gone."""

    def __init__(self):
        super().__init__()
        self.held = []
        self.over = threading.Event()

    def acquire(self, key, owner, seconds):
        time.sleep(0.2)
        self.held.append(owner)
        self.over.set()
        return True

    def release(self, key, owner):
        if owner in self.held:
            self.held.remove(owner)

    def leases(self):
        return self.held


@pytest.mark.parametrize("ends", ["timeout", "cancel"])
@pytest.mark.parametrize("kind", ["file", "server"])
def test_a_lease_that_comes_too_late_is_given_back(tmp_path, kind, ends):
    async def main():
        thread = StoreThread(asyncio.get_running_loop)
        inner = LateServer() if kind == "server" else LateFile(str(tmp_path / "m.db"), thread=thread)
        memory = Memory(Policy(on_conflict="Serial"), store=inner)
        if kind == "server":
            memory.store = Remote("late", inner, lambda: inner, thread)
        mine = TurnLocks("one", operations=thread)
        if ends == "timeout":
            with pytest.raises(MemoryFailure):
                await mine.take(memory, timeout=0.01)
        else:
            job = asyncio.create_task(mine.take(memory))
            await asyncio.sleep(0.05)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
        if kind == "server":
            assert await asyncio.to_thread(inner.over.wait, 10)
        async with asyncio.timeout(10):
            while mine._returns:
                await asyncio.sleep(0.01)
        assert inner.leases() == []
        thread.close()

    asyncio.run(main())


def test_a_lease_is_not_asked_for_once_nobody_waits_for_it():
    async def main():
        thread, inner = StoreThread(asyncio.get_running_loop), LateServer()
        memory = Memory(Policy(on_conflict="Serial"), store=inner)
        memory.store = Remote("late", inner, lambda: inner, thread)
        mine = TurnLocks("one", operations=thread)
        with one_at_a_time(inner), pytest.raises(MemoryFailure):  # another session calls the store
            await mine.take(memory, timeout=0.01)
        await mine.returned()
        assert not await asyncio.to_thread(inner.over.wait, 0.4)
        thread.close()

    asyncio.run(main())
