"""Logs in Redis: a few keys per log under one hash tag, changed by one script on the server that compares versions first
(M-8.12).

Hands on `RedisStore` to `opened.py`; its methods are those of `protocol.Store`, `FactStore`, `Swaps`, `Indexed` and
`Leases`. The hash tag is the key of the memory without its branch, so that all branches are in one slot and a script can
change them together. The scripts are in `redis_scripts.py`; the forms of facts and observations and the checks of what is read
are those of `rows.py`, the notes of changed facts those of `sql.py`. redis-py, the extra `redis`, is imported when such a store
is opened.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from json import dumps, loads

from ..entries import Turn, ViewState, contents_of, entry_json, entry_of, filled, hashes_of, stored_json
from ..facts import PERSISTENT, said_by, touched
from ..failures import WAY_OUT, MemoryFailure, conflict, corrupt, newer_version, store_failed
from ..keys import decode, encode, shown
from .operations import LONGEST_CONNECT, LONGEST_WAIT
from .protocol import Head
from .redis_scripts import COMMIT, EXPIRE, KEEP, LEASE, NAMES, NEXT_NAMES, PARTS, RELEASE, REMOVE, SWAP, TOUCH
from .rows import (
    check_entry,
    check_turn,
    check_view,
    damage_at,
    fact_of_row,
    fact_row,
    head_of,
    note_of,
    seen_of_row,
    seen_row,
)
from .sql import NAMED, NOTES, Indexes, first_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..entries import Entry
    from ..fact_index import FactIndex
    from ..facts import Fact, Observation
    from ..keys import Key
    from .protocol import Batch, Write
    from .sql import Note


WRITTEN = 1
"""The score of a name in the list of keys once a commit of its log was done; 0 means that one may have been."""
LOOKED_AT = 100
"""How many keys one call of `expire` looks at, so that no commit pays for all keys that are there."""
FORMAT = 5
"""The format of the keys: 1 had no notes of changed facts, 2 no state of providers in entries, 4 no contents of media."""


FORM = "redis://HOST:PORT/NUMBER, or one with rediss:// or unix://"
MALFORMED = (ValueError, TypeError, AttributeError, LookupError)
"""What redis-py raises for a URL, or an option in it, that it cannot use."""


class RedisStore:
    """Logs on a Redis server. `url` names it, `name` is what failures call the store, and `source` says in failures where the url
    stands; `prefix` separates programs that share the server. Methods wait for the server where they are called. A returned
    commit survives as far as the server's settings say (M-8.5). Methods raise MemoryFailure: "Store" when the server fails or
    does not answer in time, "Corrupt" for damaged values, "Version" for media of a later version, "Conflict" as the protocol
    says.

    The constructor asks the server for the format of its keys. It raises the same MemoryFailures, "Version" for a newer
    format, "Store" also when redis-py is missing, and for a `url` that is none.

    In short: `head`, `entries`, `turns` and `views` return what is stored of a log, `facts`, `seen` and `index` what is beside
    it; `commit` applies changes, each at the version that it expects, and is False for a run that is stored already; `keep`,
    `swap` and `touch` change facts alone; `remove` and `expire` take whole keys away, and `keys` names those that are there;
    `acquire`, `release` and `holder` are about leases. None of them decides what is stored: that comes as a `Batch`.
    """

    blocking = True

    def __init__(self, url: str, *, name: str = "redis", prefix: str = "concerto", source: str = "its url") -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            from ...errors import install_advice

            raise store_failed(name, f"redis is not installed: {install_advice('redis')}") from None
        self.name = name
        self._redis = redis
        self._indexes = Indexes(self._notes, self._facts)
        self._prefix = prefix.encode()
        with self._guard():
            try:
                # A command that may have been done is not sent again; what the URL says of times counts.
                self._server: Any = redis.Redis.from_url(
                    url, retry=Retry(NoBackoff(), 0), socket_timeout=LONGEST_WAIT, socket_connect_timeout=LONGEST_CONNECT
                )
                self._server.setnx(self._prefix + b":format", FORMAT)  # some options are looked at by the first command
            except MALFORMED:  # its text may show a part of the password
                raise store_failed(name, f"{source} is not of the form {FORM}") from None
            scripts = (NAMES, NEXT_NAMES, COMMIT, KEEP, SWAP, TOUCH, REMOVE, EXPIRE, LEASE, RELEASE)
            self._scripts = {text: self._server.register_script(text) for text in scripts}
            self._check_format()

    def _check_format(self) -> None:
        stored = self._server.get(self._prefix + b":format")
        if stored is None or not stored.isdigit():
            raise corrupt(f"store {self.name}: {self._prefix.decode()}:format says no format")
        number = int(stored)
        if number > FORMAT:
            raise newer_version(number, FORMAT)
        if number < FORMAT:
            self._server.set(self._prefix + b":format", FORMAT)

    def _names(self, key: bytes, tag: bytes) -> dict[str, bytes]:
        """Return the Redis keys of a log. The tag in braces decides the slot; the whole key follows, so that no two logs
        share one."""
        base = b"%s:{%s}:%s:" % (self._prefix, tag.hex().encode(), key.hex().encode())
        return {part: base + part.encode() for part in PARTS}

    def _of(self, key: Key) -> dict[str, bytes]:
        return self._names(encode(key), encode(key[:-1]))

    def head(self, key: Key) -> Head:
        """Return the row of a key, `Head()` for one that was never written. Raise MemoryFailure("Corrupt") where the server has
        dropped the row of one that was written."""
        names = self._of(key)
        with self._guard():
            held = self._server.get(names["head"])
            if held is None:
                is_lost = self._parts_are_there(names) or self._was_written(key)
                held = self._server.get(names["head"]) if is_lost else None  # written meanwhile
        if held is None and is_lost:
            raise corrupt(f"{self._place(key)}: the head is gone, the server has dropped it; {WAY_OUT}")
        with damage_at(lambda: self._place(key)):
            return Head() if held is None else head_of(loads(held))

    def _parts_are_there(self, names: dict[str, bytes]) -> bool:
        """Whether parts of a log exist without its head, looked at in one transaction."""
        with self._server.pipeline() as both:
            head, parts = both.exists(names["head"]).exists(*names.values()).execute()
        return bool(parts and not head)

    def _was_written(self, key: Key) -> bool:
        """Whether the list of keys says that a commit of this log was done."""
        return bool(self._server.zscore(self._prefix + b":keys", encode(key)) == WRITTEN)

    def _place(self, key: Key) -> str:
        return f"store {self.name}, key {shown(key)}"

    def entries(
        self,
        key: Key,
        *,
        after: int = -1,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        pinned: bool | None = None,
        run: str | None = None,
    ) -> list[Entry]:
        """Return entries with after < seq < before in log order, at most `limit` of them: the oldest, or with `newest` the
        newest. `pinned`: only those that are pinned, or only those that are not; `run`: only those of this run."""
        if limit == 0:
            return []
        names = self._of(key)
        with self._guard():
            if run is not None:
                reach = self._server.hget(names["runs"], run)
                if reach is None:
                    return []
                first, last = self._reach(key, run, reach)
                after, before = max(after, first - 1), last + 1 if before is None else min(before, last + 1)
            seqs: list[tuple[int, bool]] = []
            for which, on in (("order", False), ("pins", True)):
                if pinned is None or pinned is on:
                    held = self._range(names, which, after, before, limit, newest)
                    with damage_at(partial("{}, {}".format, self._place(key), which)):
                        seqs += [(int(seq), on) for seq in held]
            seqs.sort()
            if limit is not None:
                seqs = seqs[max(0, len(seqs) - limit) :] if newest else seqs[:limit]
            return self._entries_at(key, names, seqs)

    def _reach(self, key: Key, run: str, stored: bytes) -> tuple[int, int]:
        with damage_at(lambda: f"{self._place(key)}, run {run}"):
            first, last = loads(stored)
            if type(first) is not int or type(last) is not int:
                raise ValueError
            return first, last

    def _range(
        self, names: dict[str, bytes], which: str, after: int, before: int | None, limit: int | None, newest: bool
    ) -> list[bytes]:
        """Return entry numbers in order; each number is its own score."""
        low, high = f"({after}", "+inf" if before is None else f"({before}"
        part = {} if limit is None else {"start": 0, "num": limit}
        numbers: list[bytes]
        if newest:
            numbers = self._server.zrevrangebyscore(names[which], high, low, **part)
            numbers.reverse()
        else:
            numbers = self._server.zrangebyscore(names[which], low, high, **part)
        return numbers

    def _entries_at(self, key: Key, names: dict[str, bytes], seqs: Sequence[tuple[int, bool]]) -> list[Entry]:
        """Return the entries with these numbers. The set that holds a number says whether its entry is pinned."""
        if not seqs:
            return []
        texts = self._server.hmget(names["entries"], [str(seq) for seq, _ in seqs])
        for text, (seq, pinned) in zip(texts, seqs, strict=True):
            if text is None and self._server.zscore(names["pins" if pinned else "order"], str(seq)) is not None:
                raise corrupt(f"{self._place(key)}: entry {seq} is gone; {WAY_OUT}")  # else it has left meanwhile
        with damage_at(lambda: self._place(key)):
            entries = [_entry(text, seq, pinned) for text, (seq, pinned) in zip(texts, seqs, strict=True) if text is not None]
            return filled(entries, lambda hashes: self._contents(names, hashes))

    def _contents(self, names: dict[str, bytes], hashes: list[str]) -> dict[str, bytes]:
        """Return the contents of media with these hashes, as many of them as there are."""
        held = self._server.hmget(names["blobs"], hashes)
        return {one: data for one, data in zip(hashes, held, strict=True) if data is not None}

    def turns(self, key: Key, since: int = 0) -> list[Turn]:
        """Return the turn records numbered `since` and up, in order."""
        with self._guard():
            texts = self._server.hvals(self._of(key)["turns"])
        with damage_at(lambda: self._place(key)):
            turns = [check_turn(Turn(**stored_json(text.decode("utf-8", "surrogatepass")))) for text in texts]
        return sorted((turn for turn in turns if turn.turn >= since), key=lambda turn: turn.turn)

    def views(self, key: Key) -> dict[str, ViewState]:
        """Return the stored states of views by the names of the views."""
        with self._guard():
            texts = self._server.hvals(self._of(key)["views"])
        with damage_at(lambda: self._place(key)):
            return {state.name: state for state in (check_view(ViewState(**loads(text))) for text in texts)}

    def facts(self, key: Key) -> list[Fact]:
        """Return the facts of a key by their numbers."""
        return self._facts(key, None)

    def _facts(self, key: Key, numbers: Sequence[int] | None) -> list[Fact]:
        """Return all facts of a key, or those with some numbers."""
        name = self._of(key)["facts"]
        with self._guard():
            if numbers is None:
                texts = list(self._server.hgetall(name).items())
            else:
                texts = list(zip(numbers, self._server.hmget(name, numbers) if numbers else [], strict=True))
        with damage_at(lambda: self._place(key)):
            facts = [_fact(number, text) for number, text in texts if text is not None]
        return sorted(facts, key=lambda fact: fact.id)

    def _notes(self, key: Key, since: int) -> list[Note]:
        with self._guard():
            scored = self._server.zrangebyscore(self._of(key)["changed"], since, "+inf", withscores=True)
        with damage_at(lambda: self._place(key)):
            notes = []
            for text, score in scored:
                number, colon, facts = text.decode().partition(":")
                # A reader would ask for the notes behind another number again and again.
                if not colon or int(number) != score:
                    raise corrupt("a note of changed facts has another number than its place")
                notes.append(note_of(int(number), None if facts == "*" else facts))
            return notes

    def index(self, key: Key) -> FactIndex:
        """Return the index that recall searches (M-14.4)."""
        return self._indexes.of(key)

    def seen(self, key: Key) -> list[Observation]:
        """Return the observations of a key by topic and number."""
        with self._guard():
            texts = self._server.hgetall(self._of(key)["seen"])
        with damage_at(lambda: self._place(key)):
            return sorted((_seen(place, text) for place, text in texts.items()), key=lambda one: one.place)

    def keys(self, prefix: Key) -> Iterator[Key]:
        """Return the written keys that begin with these parts, ordered by their bytes."""
        low = encode(prefix)
        with self._guard():
            held = self._scripts[NAMES](keys=[self._prefix + b":keys"], args=[low, low + b"\xff"])
            with damage_at(lambda: f"store {self.name}, the list of keys"):
                scored = sorted(zip(held[::2], map(float, held[1::2]), strict=True))
                names = [(key, score, decode(key)) for key, score in scored]
            heads = [score == WRITTEN or self._server.exists(self._of(key)["head"]) for _, score, key in names]
        return iter([key for (_, _, key), head in zip(names, heads, strict=True) if head])

    def commit(self, writes: Sequence[Write], *, scrub: bool = False) -> bool:
        """As `Store.commit`. `scrub` needs nothing: Redis holds no removed data, except in its own persistence files
        until they are rewritten."""
        names: list[bytes] = []
        plans = []
        contents: list[bytes] = []  # arguments of the script behind the plans: bytes do not pass through JSON
        for key, expect, batch in writes:
            names += self._of(key).values()
            plans.append(_plan(expect, batch, contents))
        if not writes:
            return True
        with self._guard():
            # First, so that a death in between leaves a name without a log, which counts as none; WRITTEN when there is one.
            self._server.zadd(self._prefix + b":keys", {encode(key): 0 for key, _, _ in writes}, nx=True)
            answer = self._scripts[COMMIT](keys=names, args=[dumps(plans), *contents])
            if answer == b"stored":
                return False
            if not answer.startswith(b"ok"):
                at, actual = loads(answer)
                raise conflict(writes[at][1], actual)
            begun = {encode(key): WRITTEN for key, expect, _ in writes if expect == 0}
            if begun:
                self._server.zadd(self._prefix + b":keys", begun)
        for (key, _, batch), change in zip(writes, answer.split()[1:], strict=True):
            self._indexes.follow_commit(key, int(change), batch)
        return True

    def keep(
        self,
        key: Key,
        at: int,
        facts: Sequence[Fact],
        gone: Sequence[int],
        seen: Sequence[Observation] = (),
        unseen: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Remove the facts with the numbers `gone` and the observations `unseen` (topic and number), then add `facts` and `seen`,
        all or nothing; the key counts as written at `at`, in Unix ms. Raise MemoryFailure("Conflict") as `FactStore.keep`."""
        plan = {**_fact_plan(facts, gone, seen, unseen), "facts_anew": False}
        with self._guard():
            self._server.zadd(self._prefix + b":keys", {encode(key): 0}, nx=True)
            answer = self._scripts[KEEP](keys=list(self._of(key).values()), args=[dumps(plan), at])
        if not answer.startswith(b"ok"):
            number = facts[0].id if facts else seen[0].n
            raise conflict(number, number + 1)
        self._indexes.follow(key, int(answer.split()[1]), facts, gone)

    def swap(self, key: Key, at: int, fact: Fact, said: str, gone: Sequence[int], name: str) -> bool:
        """As `Swaps.swap`. The content is compared here, and the script then checks that it is still stored; after an
        access by others it is read again."""
        plan = {**_fact_plan([fact], gone, (), ()), "facts_anew": False}
        names, hexed = self._of(key), name.encode("utf-8", "surrogatepass").hex()
        index = self._indexes.known(key)
        known = None if index is None else index.named(PERSISTENT, name)
        answer = b"another"
        if index is not None and known is not None and known.id not in gone:
            if said_by(known) != said:
                return False
            with self._guard():
                answer = self._scripts[SWAP](keys=list(names.values()), args=[dumps(plan), at, hexed, b"", index.stamp])
        # Optimistic: read, compare here, and let the script check that nothing has changed since.
        missing = None
        while answer == b"another":
            with self._guard():
                number = self._server.hget(names["names"], hexed)
                row = b"" if number is None else self._server.hget(names["facts"], number)
            if row is None:
                if number == missing:
                    raise corrupt(f"{self._place(key)}: fact {number.decode()} is missing")
                missing = number  # it has left between, but not twice: numbers are given once
                continue
            with damage_at(lambda: self._place(key)):
                stored = _fact(number, row) if row else None
            expired = stored is not None and name == fact.name and stored.id in gone
            if said_by(None if expired else stored) != said:
                return False
            with self._guard():
                self._server.zadd(self._prefix + b":keys", {encode(key): 0}, nx=True)
                looked_at = b"%s:%s" % (number, row) if row else b""
                answer = self._scripts[SWAP](keys=list(names.values()), args=[dumps(plan), at, hexed, looked_at, b""])
        if not answer.startswith(b"ok"):
            raise conflict(fact.id, fact.id + 1)
        self._indexes.follow(key, int(answer.split()[1]), [fact], gone)
        return True

    def touch(self, key: Key, at: int, facts: Sequence[Fact]) -> None:
        """As `Swaps.touch`. The script changes each fact that is still as it was read."""
        names = self._of(key)
        with self._guard():
            rows = self._server.hmget(names["facts"], [fact.id for fact in facts]) if facts else []
        with damage_at(lambda: self._place(key)):
            stored = [None if text is None else _fact(fact.id, text) for fact, text in zip(facts, rows, strict=True)]
        updated = [touched(one, fact) for one, fact in zip(stored, facts, strict=True)]
        changed = [fact for fact in updated if fact is not None]
        looked_at = [text for text, fact in zip(rows, updated, strict=True) if fact is not None]
        plan = {**_fact_plan(changed, (), (), ()), "facts_anew": False}
        with self._guard():
            self._server.zadd(self._prefix + b":keys", {encode(key): 0}, nx=True)
            answer = self._scripts[TOUCH](keys=list(names.values()), args=[dumps(plan), at, *looked_at])
        number, *ids = answer.decode().split()[1:]
        if ids:
            stored_ids = frozenset(ids)
            self._indexes.follow(key, int(number), [fact for fact in changed if str(fact.id) in stored_ids], ())

    def remove(self, keys: Sequence[Key]) -> None:
        """Remove everything of these keys, one key after another."""
        with self._guard():
            for key in keys:
                self._server.zadd(self._prefix + b":keys", {encode(key): 0}, xx=True)
                self._scripts[REMOVE](keys=list(self._of(key).values()), args=[])
                self._server.zrem(self._prefix + b":keys", encode(key))

    def expire(self, prefix: Key, before: int, limit: int) -> None:
        """As `Store.expire`, of the next keys behind those that the call before has looked at, whoever made it. So each key is
        looked at in its turn, also by programs that commit once and end."""
        low, names = encode(prefix), [self._prefix + b":keys", self._swept()]
        with self._guard():
            listed = self._scripts[NEXT_NAMES](keys=names, args=[low, low + b"\xff", LOOKED_AT])
            with damage_at(lambda: f"store {self.name}, the list of keys"):
                keys = [decode(name) for name in listed]
            with self._server.pipeline(transaction=False) as asked:
                for key in keys:
                    asked.get(self._of(key)["head"])
                old = [key for key, held in zip(keys, asked.execute(), strict=True) if _is_older(held, before)]
            for key in old[:limit]:
                self._expire(key, before)

    def _expire(self, key: Key, before: int) -> None:
        name = self._prefix + b":keys"
        score = self._server.zscore(name, encode(key))
        self._server.zadd(name, {encode(key): 0}, xx=True)
        if self._scripts[EXPIRE](keys=list(self._of(key).values()), args=[before]):
            self._server.zrem(name, encode(key))
        elif score:
            self._server.zadd(name, {encode(key): score}, xx=True)

    def _swept(self) -> bytes:
        """Return the name of what notes how far `expire` has come; its hash tag puts it into the slot of the list of keys."""
        return b"%s:{%s:keys}:swept" % (self._prefix, self._prefix)

    def interrupt(self) -> None:
        """Make what waits for the server fail; called from any thread."""
        self._server.connection_pool.disconnect(inuse_connections=True)

    def close(self) -> None:
        """Close the connections; a later use opens others."""
        self._server.close()

    def acquire(self, key: Key, owner: str, seconds: float) -> bool:
        """Take or renew the lease of a key for so many seconds, and return True; False while another owner holds it."""
        with self._guard():
            return bool(self._scripts[LEASE](keys=[self._lease(key)], args=[owner, int(seconds * 1000)]))

    def release(self, key: Key, owner: str) -> None:
        """Give the lease back; do nothing when `owner` does not hold it."""
        with self._guard():
            self._scripts[RELEASE](keys=[self._lease(key)], args=[owner])

    def holder(self, key: Key) -> str | None:
        """Return who holds the lease, None for nobody."""
        with self._guard():
            owner = self._server.get(self._lease(key))
        return None if owner is None else owner.decode()

    def _lease(self, key: Key) -> bytes:
        return self._of(key)["head"] + b":lease"

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except self._redis.RedisError as error:
            raise store_failed(self.name, str(error)) from None


def _is_older(head: bytes | None, before: int) -> bool:
    """Whether the stored head is of a log that was last written before that time; a damaged one tells nothing."""
    try:
        return head is not None and head_of(loads(head)).touched < before
    except (*MALFORMED, MemoryFailure):
        return False


FIRST_CONTENT = 2  # the place of the first content among the arguments of COMMIT


def _plan(expect: int, batch: Batch, contents: list[bytes]) -> dict[str, Any]:
    """Return the change as the script COMMIT takes it; what it stores is text already. The contents of media are added to
    `contents`, and stand in the plan by their places."""
    first = FIRST_CONTENT + len(contents)
    seqs: dict[int, list[int]] = {}
    for entry in batch.entries if batch.turns else ():
        seqs.setdefault(entry.turn, []).append(entry.seq)
    held = contents_of(batch.entries)
    contents += held.values()
    return {
        "blobs": [[content_hash, at] for at, content_hash in enumerate(held, first)],
        "expect": expect,
        "version": batch.head.version,
        "head": dumps(batch.head.values()),
        "touched": batch.head.touched,
        "everything": batch.everything,
        "evict": [[str(entry.seq), str(entry.turn), hashes_of(entry)] for entry in batch.evict],
        "pins": [[str(seq), on] for seq, on in batch.pins.items()],
        "entries": [
            [str(entry.seq), entry.pinned, str(entry.turn), _text(entry), hashes_of(entry)] for entry in batch.entries
        ],
        "turns": [[str(turn.turn), turn.run, dumps(turn.as_json()), _reach(seqs.get(turn.turn, ()))] for turn in batch.turns],
        "views": [[state.name, dumps(state.as_json())] for state in batch.views],
        "facts_anew": batch.facts_anew,
        **_fact_plan(batch.facts, batch.gone, batch.seen, batch.unseen),
    }


def _fact_plan(
    facts: Sequence[Fact], gone: Sequence[int], seen: Sequence[Observation], unseen: Sequence[tuple[str, int]]
) -> dict[str, Any]:
    """Return the part of a plan about facts and observations. Names and topics are hexadecimal texts, since a String may
    hold what does not pass through scripts."""
    fact_rows = [(fact.id, *fact_row(fact)) for fact in facts]
    rows = [seen_row(one) for one in seen]
    return {
        "first": first_change(),
        "notes": NOTES,
        "named": NAMED,
        "facts": [[str(number), name.hex(), _ascii(data)] for number, name, data in fact_rows],
        "gone": [str(number) for number in gone],
        "seen": [[f"{topic.hex()}:{n}", _ascii(data)] for topic, n, data in rows],
        "unseen": [f"{topic.encode('utf-8', 'surrogatepass').hex()}:{n}" for topic, n in unseen],
    }


def _ascii(data: bytes) -> str:
    """Return the same JSON with escapes for everything beyond ASCII."""
    if data.isascii():
        return data.decode()
    return dumps(loads(data.decode("utf-8", "surrogatepass")), separators=(",", ":"))


def _fact(number: bytes | int, stored: bytes) -> Fact:
    """Return the fact that stands under this number: its name in hexadecimal, a blank, and its bytes."""
    name, _, data = stored.partition(b" ")
    return fact_of_row(data, int(number), bytes.fromhex(name.decode()))


def _seen(place: bytes, stored: bytes) -> Observation:
    topic, _, number = place.decode().partition(":")
    return seen_of_row(stored, bytes.fromhex(topic), int(number))


def _reach(seqs: Sequence[int]) -> str:
    """Return the first and last entry number of a turn, as JSON; `seqs` are those of its entries."""
    return dumps([min(seqs, default=0), max(seqs, default=-1)])


def _text(entry: Entry) -> str:
    return dumps(entry_json(entry), separators=(",", ":"))


def _entry(stored: bytes, seq: int, pinned: bool) -> Entry:
    entry = check_entry(entry_of(loads(stored) | {"pinned": pinned}))
    if entry.seq != seq:
        raise corrupt(f"entry {entry.seq} stands in the place of {seq}")
    return entry
