"""The memories that an image declares (M-2.13), as declarations of the runtime.

Hands on `declarations`, `namespace` and `open_stores`, which a session calls when it starts. A policy is made from the
rows of `vm/memory_steps.py`; the table VALUES says what becomes of each kind of value there. Functions of steps are numbers in an
image; `functions` returns what calls them. The image is a verified one: nothing of it is checked here, and no store is opened.
"""

from __future__ import annotations

from ...vm.bytecode.image import logs_of
from ...vm.memory_steps import (
    BOUNDS,
    EVENTS,
    FUNCTION,
    FUNCTIONS,
    REDACTOR,
    RULE,
    SOME,
    SUMMARISERS,
    SUMMARY,
    SWITCH,
    TABLE,
)
from .bounds import Bounds, key_names
from .policy import ROWS, Decay, Declaration, Policy, RecallPolicy, Rule, SummaryPolicy
from .stores.operations import IN_PLACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...vm.bytecode.image import Image, Memory
    from ...vm.memory_steps import Argument
    from ..records import Msg
    from .entries import TokenCounter
    from .policy import Allow, FactAccess, Secrets
    from .stores.opened import OpenStores
    from .stores.operations import Operations

    Functions = Callable[[str, list[int]], Any]
    """Returns what a policy calls for a function of a step: of the name of the step and the place of the function in the
    image."""
    Computed = Callable[[int], Mapping[str, int | None]]
    """Returns the bounds that the beginning of the program has computed for a memory, by the memory's number in the image."""


def declarations(
    image: Image, functions: Functions, counter: Any, secrets: Secrets, computed: Computed = lambda number: {}
) -> list[Declaration]:
    """Return the declarations of an image, in its order. `counter` is the TokenCounter of the host, None for none; `secrets` are
    kept out of all logs (G-10.3); `computed` is called when a memory is opened."""
    result = []
    counts = None if counter is None else _counting(counter)
    policies: dict[int, Policy] = {}

    def policy_of(number: int) -> Policy:
        """Return the policy of a memory, made once: its views have the same one."""
        if number not in policies:
            memory = image.memories[number]
            policy = _policy(memory, memory.steps, memory.max_messages, functions, counts, secrets)
            if memory.of is not None and image.memories[memory.of].of is not None:
                policy = policy.replaced(inner=(image.memories[memory.of].name, policy_of(memory.of)))
            policies[number] = policy
        return policies[number]

    for number, (memory, log) in enumerate(zip(image.memories, logs_of(image.memories), strict=True)):
        steps = memory.steps
        bounds = _bounds(memory, number, functions, counts, secrets, computed)
        of_value = None if bounds is None else bounds.made
        of = None if memory.of is None else log.name
        store = steps.get("store", {}).get("name")
        result.append(
            Declaration(
                memory.name, policy_of(number), per=steps.get("keys", ()) if of_value is None else key_names(of_value),
                store=store, of=of, allow=_allowed(steps), embed=steps.get("embed"), fixed=_fixed(image, memory), bounds=bounds,
                path=steps.get("was"), key_defaults=steps.get("key_defaults"), renamed=_renamed(image, memory),
                on=_handlers(steps), lists=_lists(image, memory),
                access=_access(steps, _renamed(image, memory)),
            )
        )
    return result


def _fixed(image: Image, memory: Memory) -> frozenset[tuple[str, str]]:
    """Return the slots without `mut` (M-10.2), by their earlier names too."""
    slots = [] if memory.context is None else image.contexts[memory.context].slots
    return frozenset(at for slot in slots if not slot[3] for at in _places(slot))


def _renamed(image: Image, memory: Memory) -> dict[tuple[str, str], str]:
    """Return the earlier names of slots (M-8.24)."""
    slots = [] if memory.context is None else image.contexts[memory.context].slots
    return {(slot[0], slot[1]): slot[5] for slot in slots if len(slot) > 5}


def _handlers(steps: dict[str, Any]) -> dict[str, list[int]]:
    return {EVENTS[handler["event"]]: handler["with"] for handler in steps.get("on", ())}


def _lists(image: Image, memory: Memory) -> frozenset[tuple[str, str]]:
    """Return the slots that are lists (M-10.38), by their earlier names too."""
    slots = [] if memory.context is None else image.contexts[memory.context].slots
    return frozenset(at for slot in slots if image.types[slot[2]][0] == "array" for at in _places(slot))


def _places(slot: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the tier and the names of the fact that a slot is stored as (M-8.24)."""
    return [(slot[0], name) for name in (slot[1], *slot[5:])]


def namespace(image: Image) -> str:
    """Return the first part of every key (M-7.1): the namespace that the manifest gives a store, of the first memory that has
    one, else the name of the program."""
    names = (memory.steps.get("store", {}).get("namespace") for memory in image.memories)
    return next((name for name in names if name), image.header.name)


def open_stores(
    image: Image,
    host: Any,
    loop: Callable[[], Any],
    mark: Callable[[], Callable[[], object]],
    settles: Callable[[Any], object],
) -> tuple[OpenStores, Operations]:
    """Return the stores of an image, and how operations on them are run: in a thread where a store may have to be waited for.
    `host` is the `Host` of the session; `loop` returns its event loop; `mark` is called before a try outside the thread, and
    returns what gives back what the try has used of the session's limits; `settles` is called with the effect of an operation
    before that changes a store. Nothing is opened, and no code of a store is loaded, before a memory needs it (M-14.7)."""
    from .stores.opened import OpenStores

    configured = {memory.steps["store"]["name"]: memory.steps["store"] for memory in image.memories if "store" in memory.steps}
    configured |= {index.store["name"]: index.store for index in image.indexes if index.store is not None}
    if not configured or host.volatile:
        return OpenStores(configured, host.stores, host.project, host.env, host.volatile), IN_PLACE
    from .stores.thread import StoreThread

    thread = StoreThread(loop, mark, settles)
    return OpenStores(configured, host.stores, host.project, host.env, thread=thread), thread


def _allowed(steps: dict[str, Any]) -> Allow | None:
    if "allow_read" not in steps and "allow_write" not in steps:
        return None
    return frozenset(steps.get("allow_read", ())), frozenset(steps.get("allow_write", ()))


def _access(steps: dict[str, Any], renamed: Mapping[tuple[str, str], str]) -> FactAccess | None:
    if "allow_facts" not in steps:
        return None
    from .policy import FactAccess

    return FactAccess(steps["allow_facts"], renamed)


def _counting(counter: Any) -> TokenCounter:
    """Return the counter of the host; one that fails, or gives what is no whole number up to MOST_TOKENS, counts nothing, and the
    default holds (M-11.3)."""

    def count(message: Msg, by: str) -> int:
        from .entries import Entry

        try:
            tokens = counter.count(Entry(-1, -1, message, by=by or None), by)
        except Exception:
            return 0
        return tokens if type(tokens) is int and tokens <= MOST_TOKENS else 0

    return count


MOST_TOKENS = 100_000_000  # of one message, as of one counter of a provider: sums of more are no numbers that stores hold


def _bounds(
    memory: Memory, number: int, functions: Functions, counter: TokenCounter | None, secrets: Secrets, computed: Computed
) -> Bounds | None:
    """Return the bounds of a memory of which a run computes some; None where all are constants."""
    # `stated`: by bound the place of a function of the key, or True for one that the beginning of the program computes;
    # `of_value`: the names of the bounds that a memory value is made with.
    stated, of_value = memory.steps.get("bounds", {}), memory.steps.get("made")
    if not stated and of_value is None:
        return None
    written = {name: memory.steps[name] for name in BOUNDS if name in memory.steps}
    if memory.max_messages is not None:
        written["retain"] = memory.max_messages

    def policy(bounds: Mapping[str, int | None]) -> Policy:
        steps = {**memory.steps, **{name: value for name, value in bounds.items() if value is not None and name != "retain"}}
        return _policy(memory, steps, bounds.get("retain", memory.max_messages), functions, counter, secrets)

    of_key = {name: functions("bound", place) for name, place in stated.items() if place is not True}
    return Bounds(
        memory.name, written, policy, computed=lambda: computed(number), of_key=of_key, made=of_value,
        said=[stated, of_value, written],
    )


def _policy(
    memory: Memory,
    steps: Mapping[str, Any],
    retain: int | None,
    functions: Functions,
    counter: TokenCounter | None,
    secrets: Secrets,
) -> Policy:
    """Return the policy of these steps: those of the memory, with the bounds of one run."""
    if not steps:
        return Policy(retain=retain, counter=counter, secrets=secrets)
    groups: dict[str, dict[str, Any]] = {}
    for path, row in ROWS.items():
        group, _, name = path.rpartition(".")
        if row.image in steps:
            groups.setdefault(group, {})[name] = VALUES.get(row.kind, _as_it_is)(row, steps[row.image], functions)
        elif row.stored is not None and "store" in steps:
            groups.setdefault(group, {})[name] = row.stored
    fields = groups.pop("", {})
    fields |= {group: RECORDS[group](**parts) for group, parts in groups.items()}
    if fields.get("recall") is True:
        fields["recall"] = RecallPolicy()
    pins = memory.of is not None and ("pin_roles" in fields or "pin_when" in fields)
    return Policy(**{**fields, "retain": retain, "counter": counter, "secrets": secrets, "pins_in_view": pins})


# By the group of a row's field: what makes the record of the group.
RECORDS: dict[str, Callable[..., Any]] = {"recall": RecallPolicy, "decay": Decay}


def _as_it_is(row: Argument, value: Any, functions: Functions) -> Any:
    return value


def _table(row: Argument, value: Any, functions: Functions) -> Any:
    return _summary(value, functions) if row.image == "summary" else tuple(_rule(rule, functions) for rule in value)


def _summary(table: dict[str, Any], functions: Functions) -> SummaryPolicy:
    """Return the summary policy; who summarises is (model, name), (host, name) or (function, place)."""
    (kind,) = [kind for kind in SUMMARISERS if kind in table]
    by = (kind, *table[kind]) if kind == "function" else (kind, table[kind])
    rows = [row for row in SUMMARY.values() if row.field is not None and row.image in table]
    parts = {str(row.field): VALUES.get(row.kind, _as_it_is)(row, table[row.image], functions) for row in rows}
    return SummaryPolicy(by=by, **parts)


def _rule(table: dict[str, Any], functions: Functions) -> Rule:
    parts = {name: functions(f"learn_{name}", table[name]) for name, row in RULE.items() if row.kind == FUNCTION}
    return Rule(name=table["name"], on=table["on"], **parts)


def _redactor(word: str | list[int], functions: Functions) -> Any:
    if isinstance(word, list):
        return functions("redact", word)
    from .redaction import pii

    return pii  # the verifier knows no other word


# By the kind of a row, what the policy has of the value in an image where that is another one.
VALUES: dict[str, Callable[[Argument, Any, Functions], Any]] = {
    FUNCTION: lambda row, value, functions: functions(row.image, value),
    FUNCTIONS: lambda row, value, functions: tuple(functions(row.image, place) for place in value),
    REDACTOR: lambda row, value, functions: tuple(_redactor(word, functions) for word in value),
    SOME: lambda row, value, functions: frozenset(word.lower() for word in value),
    SWITCH: lambda row, value, functions: True,
    TABLE: _table,
}
