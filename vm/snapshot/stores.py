"""Hashmaps, ledgers and configured fields of a machine as parts of a snapshot (G-13.7: state).

In the state of a session a hashmap with a file keeps its entries there: only its watchers are written. Hands on `lowered`, and
`read`, whose outcome `replace` puts in place of a machine's own without fail. Must not know: bytes, tasks.
"""

from __future__ import annotations

from ..bytecode.image import K_CONFIG
from ..stores import Ledger, Stores
from ..values import Closure, HashMapRef, key_of, unkey
from .errors import misshapen
from .layout import fits
from .reader import WRONG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..machine import Machine
    from ..stores import HashStore
    from .reader import Reader
    from .writer import Writer


def lowered(w: Writer, machine: Machine, with_files: bool) -> list[Any]:
    """Configured fields, hashmaps, ledgers; `with_files`: entries of hashmaps with a file too, which a run goes on with."""
    configured = [[list(target), w.put(value)] for target, value in machine.configured.items()]
    stores = machine.stores
    hashmaps = [[name, _entries(w, store, with_files), _watchers(w, store)] for name, store in stores.hashmaps.items()]
    ledgers = [[name, list(map(w.clean, scope)), _records(w, held)] for (name, scope), held in stores.ledgers.items()]
    return [configured, hashmaps, ledgers]


def _entries(w: Writer, store: HashStore, with_files: bool) -> list[Any] | None:
    if store.path is not None and not with_files:
        return None
    return [part for key, value in store.items.items() for part in (w.put(unkey(key)), w.put(value))]


def _watchers(w: Writer, store: HashStore) -> list[Any]:
    """The key is none, or one in a list: nil is no key."""
    return [
        [w.clean(prefix), [] if key is None else [w.put(unkey(key))], w.put(closure)] for prefix, key, closure in store.watchers
    ]


def _records(w: Writer, ledger: Ledger) -> list[Any]:
    return [[w.put(name), [w.put(key) for key in keys], w.put(value)] for name, (keys, value) in ledger.entries.items()]


class Read:
    """What a snapshot says of stores and configured fields, whole and checked; `files`: the hashmaps that are to be read anew."""

    __slots__ = ("stores", "configured", "files")

    def __init__(self, stores: Stores, configured: dict[tuple[str, int, str], Any]) -> None:
        self.stores = stores
        self.configured = configured
        self.files = [HashMapRef(name) for name, store in stores.hashmaps.items() if store.path is not None]

    def replace(self, machine: Machine) -> None:
        machine.stores = self.stores
        machine.configured = self.configured


def read(r: Reader, part: Any, with_files: bool) -> Read:
    try:
        configured, hashmaps, ledgers = part
        stores = Stores(r.program)
        _fill_hashmaps(r, stores, hashmaps, with_files)
        for row in ledgers:
            _fill_ledger(r, stores, *row)
        return Read(stores, _configured(r, configured))
    except WRONG:
        raise misshapen("the stores are malformed") from None


def _configured(r: Reader, rows: Any) -> dict[tuple[str, int, str], Any]:
    fields = {tuple(value) for kind, value in r.program.image.constants if kind == K_CONFIG}
    found: dict[Any, Any] = {}
    for target, value in rows:
        if tuple(target) not in fields or tuple(target) in found:
            raise misshapen("a field that the program does not configure")
        found[tuple(target)] = r.value(value)
    return found


def _fill_hashmaps(r: Reader, stores: Stores, rows: Any, with_files: bool) -> None:
    if [row[0] for row in rows] != list(stores.hashmaps):
        raise misshapen("other hashmaps than those of the program")
    for name, entries, watchers in rows:
        store = stores.hashmaps[name]
        if (entries is None) is with_files if store.path is not None else entries is None:
            raise misshapen(f"entries that the hashmap {name} keeps elsewhere")
        values = r.values(entries or [])
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not (fits(key, store.key_type) and fits(value, store.value_type)):
                raise misshapen(f"an entry that does not fit the hashmap {name}")
            store.items[key_of(key)] = value
        if len(store.items) * 2 != len(values):
            raise misshapen(f"the hashmap {name} holds one key twice")
        store.watchers = [_watcher(r, *row) for row in r.list(watchers)]


def _watcher(r: Reader, prefix: Any, key: Any, closure: Any) -> tuple[str, Any, Closure]:
    function = r.value(closure)
    keys = [key_of(each) for each in r.values(key)]
    if type(function) is not Closure or len(keys) > 1 or function.function.argc != (2 if keys else 3):
        raise misshapen("a watcher that is no function of a key's changes")
    return r.text(prefix), keys[0] if keys else None, function


def _fill_ledger(r: Reader, stores: Stores, name: Any, scope: Any, records: Any) -> None:
    at = (r.text(name), tuple(map(r.text, r.list(scope))))
    if name not in stores.ledger_names or at in stores.ledgers:
        raise misshapen(f"a ledger {name} that the program has not")
    ledger = stores.ledgers[at] = Ledger(name)
    for identifier, keys, value in records:
        ledger.put(r.text(r.value(identifier)), list(map(r.text, r.values(keys))), r.text(r.value(value)))
    if len(ledger.entries) != len(records):
        raise misshapen(f"the ledger {name} holds one identifier twice")
