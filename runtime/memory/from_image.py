"""The memories an image declares (M-2.13), as declarations of the runtime.

Functions of steps arrive as numbers; `functions` gives what calls them. Must not know: logs, calls, how a function is run.
"""

from __future__ import annotations

from ...vm.bytecode.image import log_of
from ...vm.bytecode.shape import BOUNDS, EVENTS
from .bounds import Bounds, key_names
from .policy import Declaration, Policy
from .stores.operations import IN_PLACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...vm.bytecode.image import Image, Memory
    from ..records import Msg
    from .entries import TokenCounter
    from .policy import Allow, FactAccess, Secrets
    from .stores.opened import OpenStores
    from .stores.operations import Operations

    Functions = Callable[[str, list[int]], Any]
    """Step and place of a function to what the policy calls."""
    Computed = Callable[[int], Mapping[str, int | None]]

OUTSIDE_THE_POLICY = (
    "keys", "key_defaults", "was", "store", "allow_read", "allow_write", "allow_facts", "embed", "bounds", "made", "on",
)  # fmt: skip
GROUPS = ("recall_", "decay_")
SUMMARISERS = ("model", "function", "host")
FUNCTIONS = ("clip_with", "shape")


def declarations(
    image: Image, functions: Functions, counter: Any, secrets: Secrets, computed: Computed = lambda number: {}
) -> list[Declaration]:
    """`counter`: the TokenCounter of the host, or None; `secrets` are in no log (G-10.3); `computed`: the bounds that the
    beginning of the program gave a memory by its number."""
    found = []
    counts = None if counter is None else _counting(counter)
    policies: dict[int, Policy] = {}

    def policy_of(number: int) -> Policy:
        """Once each: a view of it has the same one."""
        if number not in policies:
            memory = image.memories[number]
            policy = _policy(memory, memory.steps, memory.max_messages, functions, counts, secrets)
            if memory.of is not None and image.memories[memory.of].of is not None:
                policy = policy.replaced(inner=(image.memories[memory.of].name, policy_of(memory.of)))
            policies[number] = policy
        return policies[number]

    for number, memory in enumerate(image.memories):
        steps = memory.steps
        bounds = _bounds(memory, number, functions, counts, secrets, computed)
        made = None if bounds is None else bounds.made
        of = None if memory.of is None else log_of(image.memories, memory).name
        store = steps.get("store", {}).get("name")
        found.append(
            Declaration(
                memory.name, policy_of(number), per=steps.get("keys", ()) if made is None else key_names(made), store=store,
                of=of, allow=_allowed(steps), embed=steps.get("embed"), fixed=_fixed(image, memory), bounds=bounds,
                path=steps.get("was"), key_defaults=steps.get("key_defaults"), renamed=_renamed(image, memory),
                on=_handlers(steps), lists=_lists(image, memory),
                access=_access(steps, _renamed(image, memory)),
            )
        )
    return found


def _fixed(image: Image, memory: Memory) -> frozenset[tuple[str, str]]:
    """Its slots without `mut` (M-10.2), by the names before too."""
    slots = [] if memory.context is None else image.contexts[memory.context].slots
    return frozenset(at for slot in slots if not slot[3] for at in _places(slot))


def _renamed(image: Image, memory: Memory) -> dict[tuple[str, str], str]:
    """The names of its slots before (M-8.24)."""
    slots = [] if memory.context is None else image.contexts[memory.context].slots
    return {(slot[0], slot[1]): slot[5] for slot in slots if len(slot) > 5}


def _handlers(steps: dict[str, Any]) -> dict[str, list[int]]:
    return {EVENTS[said["event"]]: said["with"] for said in steps.get("on", ())}


def _lists(image: Image, memory: Memory) -> frozenset[tuple[str, str]]:
    """Its slots that are lists (M-10.38), by the names before too."""
    slots = [] if memory.context is None else image.contexts[memory.context].slots
    return frozenset(at for slot in slots if image.types[slot[2]][0] == "array" for at in _places(slot))


def _places(slot: Sequence[Any]) -> list[tuple[str, str]]:
    """The tier and the names of the fact that a slot is (M-8.24)."""
    return [(slot[0], name) for name in (slot[1], *slot[5:])]


def namespace(image: Image) -> str:
    """The first part of every key (M-7.1)."""
    given = (memory.steps.get("store", {}).get("namespace") for memory in image.memories)
    return next((name for name in given if name), image.header.name)


def open_stores(
    image: Image,
    host: Any,
    loop: Callable[[], Any],
    mark: Callable[[], Callable[[], object]],
    settles: Callable[[Any], object],
) -> tuple[OpenStores, Operations]:
    """The stores, and how operations on them are run; `loop`, `mark`, `settles`: as StoreThread has them. Nothing is opened, and
    no code of a store loaded, before a memory needs it (M-14.7)."""
    from .stores.opened import OpenStores

    configured = {memory.steps["store"]["name"]: memory.steps["store"] for memory in image.memories if "store" in memory.steps}
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
    """One that fails has counted nothing, and the default holds (M-11.3)."""

    def count(message: Msg, by: str) -> int:
        from .entries import Entry

        try:
            found = counter.count(Entry(-1, -1, message, by=by or None), by)
        except Exception:
            return 0
        return found if type(found) is int else 0

    return count


def _bounds(
    memory: Memory, number: int, functions: Functions, counter: TokenCounter | None, secrets: Secrets, computed: Computed
) -> Bounds | None:
    """What a run computes of its bounds; None where all are constants."""
    said, made = memory.steps.get("bounds", {}), memory.steps.get("made")
    if not said and made is None:
        return None
    written = {name: memory.steps[name] for name in BOUNDS if name in memory.steps}
    if memory.max_messages is not None:
        written["retain"] = memory.max_messages

    def policy(given: Mapping[str, int | None]) -> Policy:
        steps = {**memory.steps, **{name: value for name, value in given.items() if value is not None and name != "retain"}}
        return _policy(memory, steps, given.get("retain", memory.max_messages), functions, counter, secrets)

    of_key = {name: functions("bound", place) for name, place in said.items() if place is not True}
    return Bounds(
        memory.name, written, policy, computed=lambda: computed(number), of_key=of_key, made=made, said=[said, made, written]
    )


def _policy(
    memory: Memory,
    said: Mapping[str, Any],
    retain: int | None,
    functions: Functions,
    counter: TokenCounter | None,
    secrets: Secrets,
) -> Policy:
    """What `said` says, the steps of the memory with the bounds of one run."""
    if not said:
        return Policy(retain=retain, counter=counter, secrets=secrets)
    steps: dict[str, Any] = {name: value for name, value in said.items() if name not in OUTSIDE_THE_POLICY}
    steps["retain"] = retain
    if "redact" in steps:
        steps["redact"] = [_redactor(word, functions) for word in steps["redact"]]
    if "pin_when" in steps:
        steps["pin_when"] = [functions("pin_when", number) for number in steps["pin_when"]]
    for name in FUNCTIONS:
        if name in steps:
            steps[name] = functions(name, steps[name])
    steps["only_summary"] = "only" in steps
    steps.pop("only", None)
    if "store" in memory.steps:
        steps.setdefault("on_conflict", "Serial")
    if "summary" in steps:
        steps["summary"] = _summary(steps["summary"])
    if "learn" in steps:
        steps["learn"] = tuple(_rule(rule, functions) for rule in steps["learn"])
    steps = {name: value for name, value in steps.items() if not name.startswith(GROUPS)}
    if "recall" in said:
        steps["recall"] = _group(said, "recall_")
    if "decay_rate" in memory.steps:
        steps["decay"] = _group(memory.steps, "decay_")
    steps["counter"], steps["secrets"] = counter, secrets
    steps["pins_in_view"] = memory.of is not None and ("pin_roles" in steps or "pin_when" in steps)
    return Policy.of(steps)


def _group(steps: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in steps.items() if name.startswith(prefix)}


def _rule(said: dict[str, Any], functions: Functions) -> Any:
    from .policy import Rule

    made = {name: functions(f"learn_{name}", said[name]) for name in ("by", "when", "store")}
    return Rule(name=said["name"], on=said["on"], **made)


def _summary(said: dict[str, Any]) -> dict[str, Any]:
    """Who summarises is (model, name), (host, name) or (function, place)."""
    held = {name: value for name, value in said.items() if name not in (*SUMMARISERS, "from")}
    held["whole"] = said.get("from") == "Buffer"
    kind = next(kind for kind in SUMMARISERS if kind in said)
    return {**held, "by": (kind, *said[kind]) if kind == "function" else (kind, said[kind])}


def _redactor(word: str | list[int], functions: Functions) -> Any:
    if isinstance(word, list):
        return functions("redact", word)
    from .redaction import pii

    return pii  # the verifier knows no other word
