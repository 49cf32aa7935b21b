"""What a memory asks of a store (M-8), and the records that cross this border.

Hands on the records `Head` and `Batch` (and `Write`, a batch with its key and the expected version), and the protocols `Store`
and `FactStore`, to the stores and to the files that use them, those of the journal, of indexes and of hosts too; a new kind of
store implements `Store`, and the other protocols as far as it can. What is optional is looked for by the names of its methods
(`hasattr`): `FactStore`, `Swaps`, `FactIndex`, `Indexed` and `Leases` say what these do. A store is plain and synchronous: it is
told the whole outcome of a change and applies it in one transaction, or not at all, after comparing the version. All policy is
decided above it, so two stores given the same calls hold the same state (M-8.4). `blocking` says that its methods wait for disk
or network, and that other processes may write meanwhile.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol, TypeAlias

    from ..entries import Entry, Turn, ViewState
    from ..fact_index import FactIndex as Index
    from ..facts import Fact, Observation
    from ..keys import Key

    Write: TypeAlias = tuple[Key, int, "Batch"]
    """Key, expected version, change."""

    class Store(Protocol):
        """Every method may raise MemoryFailure("Store") when the store cannot be read or written, MustWait (`operations.py`),
        with nothing changed, where an operation is only tried and the store would wait, and one that reads
        MemoryFailure("Corrupt", or "Version") for what does not decode. What `opened.HostStore` does about other exceptions
        stands there. `name` is what failures call it. `views` returns the stored states of views by the names of the views;
        `close` gives back what the store holds open, if anything."""

        name: str
        blocking: bool

        def head(self, key: Key) -> Head:
            """Return the row of a key in constant time; `Head()` for a key that was never written."""

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
            newest. `pinned`: only those that are pinned (True), or only those that are not (False); `run`: only those of this
            run. None: no such bound."""

        def turns(self, key: Key, since: int = 0) -> list[Turn]:
            """Return the turn records numbered `since` and up, in order; a direct write has none."""

        def views(self, key: Key) -> dict[str, ViewState]: ...

        def commit(self, writes: Sequence[Write], *, scrub: bool = False) -> bool:
            """Apply all writes in one transaction, and return True. Raises MemoryFailure("Conflict") when a version differs, or
            as `FactStore.keep` for the facts of a batch. False, and nothing stored, when a turn's run is stored already (M-5.10),
            unless its batch has `everything` leave; that is looked at before the version of its key. `scrub`: nothing removed,
            now or before, may stay in the store's files; a failure to do so comes after the transaction."""

        def remove(self, keys: Sequence[Key]) -> None:
            """Remove everything of these keys, scrubbed; a key that was never written is passed over."""

        def keys(self, prefix: Key) -> Iterator[Key]:
            """Yield the written keys that begin with these parts, ordered by their bytes."""

        def expire(self, prefix: Key, before: int, limit: int) -> None:
            """Remove up to `limit` keys under the prefix that were last written before that time, in Unix ms (M-8.9). A call
            may look at a part of the keys only; the calls after it look at the others."""

        def close(self) -> None: ...

    class FactStore(Protocol):
        """Optional: a store that keeps facts and observations (M-10). Without it neither outlives a session."""

        name: str

        def facts(self, key: Key) -> list[Fact]:
            """Return the facts of a key by their numbers."""

        def seen(self, key: Key) -> list[Observation]:
            """Return the observations of a key by topic and number."""

        def keep(
            self,
            key: Key,
            at: int,
            facts: Sequence[Fact],
            gone: Sequence[int],
            seen: Sequence[Observation] = (),
            unseen: Sequence[tuple[str, int]] = (),
        ) -> None:
            """Remove the facts with the numbers `gone`, then add `facts`, or replace those of the same numbers; remove the
            observations `unseen` (topic and number) and add `seen`. All of it in one transaction. The log does not change, but
            its key counts as written at `at`, in Unix ms.

            Raises MemoryFailure("Conflict") when a number belongs to a fact of another name, in a store that other processes
            write also when a name belongs to another number, and when an observation stands at its place already; then nothing
            is stored."""

    class Swaps(Protocol):
        """Optional: changes in place that lose no update between processes (M-8.21)."""

        def swap(self, key: Key, at: int, fact: Fact, said: str, gone: Sequence[int], name: str) -> bool:
            """Put `fact` in place of the one named `name`, if that still has the content the caller read: `said` is its JSON text
            as `facts.said_by` writes it, "" for no fact. Facts with the numbers `gone` are removed; the key counts as written at
            `at`, in Unix ms. One transaction.

            Return whether it was done; False means that another process was faster, and nothing is stored. A fact of the name
            that is among `gone` counts as absent.

            Raises MemoryFailure("Conflict") when the number of `fact` belongs to a fact of another name, or its name to another
            number that is not in `gone`; then nothing is stored."""

        def touch(self, key: Key, at: int, facts: Sequence[Fact]) -> None:
            """Store the times of access and refreshing (Unix ms), each the later one of what is stored and given, and the vector
            of each fact that is stored the same but for these, and leave the others as they are (`facts.touched` says which). One
            transaction; the key counts as written at `at`, in Unix ms."""

    class FactIndex(Protocol):
        """Optional: a store that says which of its facts a query may hit (M-8.16)."""

        def candidates(self, key: Key, terms: list[str], vector: list[float] | None, limit: int) -> Iterable[int]:
            """Return the numbers of about `limit` facts that a query of these terms may hit, the best first as far as the store
            can tell. `vector` is the query's, None when the memory has no embedder or the query could not be embedded."""

    class Indexed(Protocol):
        """Optional: a store that keeps an index of its facts, which follows their changes (M-14.4)."""

        def index(self, key: Key) -> Index:
            """Return the index of the facts of a key as they are stored now; it belongs to the store."""

    class Leases(Protocol):
        """Optional: order between processes (M-8.13)."""

        def acquire(self, key: Key, owner: str, seconds: float) -> bool:
            """Take or renew the lease for so many seconds from now, in real time, and return True; False while another owner
            holds it. `release` gives it back, and does nothing when `owner` does not hold it."""

        def release(self, key: Key, owner: str) -> None: ...
        def holder(self, key: Key) -> str | None:
            """Optional: return who holds the lease, or held it last; None where nobody is known."""

        def died(self, owner: str) -> bool:
            """Optional: return whether the process of that holder is known to be over, as `sqlite.has_died` says it."""


class Head:
    """The row of a key. `version` is 0 before the first commit and grows with each change of the log; `next` and `turns` are the
    numbers the next entry and turn get; `length` and `tokens` count the entries that are there; `touched` is the time that
    `expire` compares, in Unix ms."""

    __slots__ = ("version", "next", "turns", "length", "tokens", "touched")

    def __init__(
        self, version: int = 0, next: int = 0, turns: int = 0, length: int = 0, tokens: int = 0, touched: int = 0
    ) -> None:
        self.version = version
        self.next = next
        self.turns = turns
        self.length = length
        self.tokens = tokens
        self.touched = touched

    def values(self) -> tuple[int, ...]:
        """Return the six values in the order of the constructor."""
        return (self.version, self.next, self.turns, self.length, self.tokens, self.touched)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Head) and self.values() == other.values()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Head{self.values()}"


class Batch:
    """One change of a key. `head` is the row afterwards.

    First all entries, turn records and view states leave (`everything`), or the entries of `evict` with the turn records nothing
    is left of; then `pins` (entry number to pinned or not) are set, `entries`, turn records (`turns`) and view states (`views`)
    added. A view state replaces that of its name. Of the facts those of `gone` leave and of the observations those of `unseen`,
    with `facts_anew` all of both; then `facts` and `seen` are added, as `FactStore.keep` does it.
    """

    __slots__ = (
        "head", "entries", "turns", "evict", "everything", "pins", "views", "facts", "gone", "seen", "unseen", "facts_anew"
    )  # fmt: skip

    def __init__(
        self,
        head: Head,
        *,
        entries: Sequence[Entry] = (),
        turns: Sequence[Turn] = (),
        evict: Sequence[Entry] = (),
        everything: bool = False,
        pins: dict[int, bool] | None = None,
        views: Sequence[ViewState] = (),
        facts: Sequence[Fact] = (),
        gone: Sequence[int] = (),
        seen: Sequence[Observation] = (),
        unseen: Sequence[tuple[str, int]] = (),
        facts_anew: bool = False,
    ) -> None:
        self.head = head
        self.entries = entries
        self.turns = turns
        self.evict = evict
        self.everything = everything
        self.pins = pins or {}
        self.views = views
        self.facts = facts
        self.gone = gone
        self.seen = seen
        self.unseen = unseen
        self.facts_anew = facts_anew

    @property
    def has_facts(self) -> bool:
        """Whether it changes facts or observations."""
        return bool(self.facts or self.gone or self.seen or self.unseen or self.facts_anew)
