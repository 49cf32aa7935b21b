"""The stages of a view that act on units before its window does (M-4.1): roles, prune, clip, media, and the form without
tools.

Hands on `visible` (all stages of a policy in order) to `views.py`; `of_roles` and `clipped` for one unit to `turns.py`, the
former to `summaries.py` too; `described` to `effects/summarisers.py`; and `without_tools` to those who make requests: `views.py`,
`turns.py` and `providers/sdk.py`. A *unit* is a list of entries of the log: one message, with the tool results behind it if it
has calls. In `visible` units come and go newest first and lazily, so that a window pays only for what it shows (M-14.2). A unit
that a stage changes is a copy for showing; stored entries are never changed. What functions of the program raise (`clip` with a
function) passes through. Windows and budgets are the matter of `views.py`.
"""

from __future__ import annotations

from ...vm.values.metering import look, paced
from ..records import Msg
from .entries import Entry, arguments_text, count_text, count_with, longest_prefix
from .terms import jaccard, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .entries import TokenCounter, Unit
    from .policy import Policy


COMPARED = 16  # turns that one is compared with before the run is asked whether it is to stop: their words may be thousands
CLIPPED = " [clipped]"


def visible(policy: Policy, units: Iterable[Unit], pinned_turns: set[int]) -> Iterator[Unit]:
    """Return an iterator over the units that roles and prune let through, clipped, and with the media of older turns as text, in
    the order in which they come: newest first. A step that the policy has not changes nothing. `pinned_turns` are the numbers
    of turns with a pinned entry, which prune does not hide."""
    shown = iter(units)
    if policy.roles is not None:
        shown = _with_roles(policy.roles, shown, policy.counter)
    if policy.prune is not None:
        shown = _pruned(policy.prune, shown, pinned_turns)
    if policy.clip is not None:
        shown = (clipped(policy, unit) for unit in shown)
    if policy.media_last is not None:
        shown = _with_recent_media(policy.media_last, shown, policy.counter)
    return shown


def _with_recent_media(last: int, units: Iterator[Unit], counter: TokenCounter | None) -> Iterator[Unit]:
    """Show media of the newest `last` turns, of older ones their Display in front of the text (M-4.35)."""
    turns: set[int] = set()
    for unit in units:
        turns.add(unit[0].turn)
        if len(turns) > last and any(entry.message.media for entry in unit):
            unit = [shown_as(entry, described(entry.message), counter) if entry.message.media else entry for entry in unit]
        yield unit


def described(message: Msg) -> Msg:
    """Return a copy of the message without its media: the Display of each, a line each, stands in front of its text."""
    lines = [*(part.text for part in message.media), *([message.content] if message.content else [])]
    return Msg(message.role, "\n".join(lines), message.calls, message.call_id, message.is_error, message.state)


def shown_as(entry: Entry, message: Msg, counter: TokenCounter | None) -> Entry:
    """Return a copy of the entry with another message, its tokens counted anew, and without parts of unknown kinds; for
    showing only."""
    return Entry(
        entry.seq, entry.turn, message, run=entry.run, by=entry.by, origin=entry.origin, pinned=entry.pinned,
        tokens=count_with(counter, message, entry.by), at=entry.at,
    )  # fmt: skip


def _with_roles(roles: frozenset[str], units: Iterator[Unit], counter: TokenCounter | None) -> Iterator[Unit]:
    for unit in units:
        visible_part = of_roles(roles, unit, counter)
        if visible_part:
            yield visible_part


def of_roles(roles: frozenset[str], unit: Unit, counter: TokenCounter | None = None) -> Unit:
    """Return what the step `roles` shows of a unit (M-4.5), an empty list for nothing: of a tool unit Assistant and Tool
    together show all, Assistant alone its text, anything else nothing; of any other unit its role shows all. `roles` are in lower
    case; `counter` counts the tokens of the copy with the text alone (None: as without a host's counter)."""
    first = unit[0]
    if first.message.role not in roles:
        return []
    if not first.message.calls or "tool" in roles:
        return unit
    if not first.message.content:
        return []
    return [shown_as(first, Msg("assistant", first.message.content), counter)]


def _pruned(similar: float, units: Iterator[Unit], pinned_turns: set[int]) -> Iterator[Unit]:
    """Hide a turn that resembles a newer shown one by at least `similar` (Jaccard index of their words) (M-4.7). Turns
    with pins or tool calls stay."""
    newer: list[frozenset[str]] = []
    for turn in _by_turn(units):
        look()
        words = frozenset(word for unit in turn for entry in unit for word in terms(entry.message.content))
        stays = not words or turn[0][0].turn in pinned_turns or any(unit[0].message.calls for unit in turn)
        if not stays and any(jaccard(words, other) >= similar for other in paced(newer, COMPARED)):
            continue
        if words:
            newer.append(words)
        yield from turn


def _by_turn(units: Iterator[Unit]) -> Iterator[list[Unit]]:
    turn: list[Unit] = []
    for unit in units:
        if turn and turn[0][0].turn != unit[0].turn:
            yield turn
            turn = []
        turn.append(unit)
    if turn:
        yield turn


def clipped(policy: Policy, unit: Unit) -> Unit:
    """Return the unit with each tool result that has more tokens than the step `clip` allows in a shorter form (M-4.8): what its
    function makes of it, of any length, or the longest beginning that fits with the mark CLIPPED behind it, at least the mark.
    The unit itself is returned where nothing is too long, and without the step."""
    limit = policy.clip
    if limit is None or len(unit) == 1 or all(count_text(entry.message.content) <= limit for entry in unit[1:]):
        return unit
    return [unit[0], *(_clipped_entry(policy, entry, limit) for entry in unit[1:])]


def _clipped_entry(policy: Policy, entry: Entry, limit: int) -> Entry:
    message = entry.message
    if count_text(message.content) <= limit:
        return entry
    if policy.clip_with is not None:
        text = policy.clip_with(message.content)
    else:
        text = longest_prefix(message.content, limit, CLIPPED) + CLIPPED
    return shown_as(entry, message.with_content(text), policy.counter)


def without_tools(messages: list[Msg], stays: Callable[[Msg], bool] = lambda message: False) -> list[Msg]:
    """Return messages for a request that offers no tools: each message with calls becomes one assistant text together with the
    results behind it, whose media are shown as their Display, unless `stays` is true of it (M-4.20); all others are returned as
    they are. A call without a result is shown with an empty one."""
    rendered: list[Msg] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if not message.calls or stays(message):
            rendered.append(message)
            continue
        results = {}
        while at < len(messages) and messages[at].role == "tool":
            results[messages[at].call_id] = described(messages[at]).content if messages[at].media else messages[at].content
            at += 1
        lines = [f"[{call.name}({arguments_text(call)}) -> {results.get(call.id, '')}]" for call in message.calls]
        rendered.append(Msg("assistant", "\n".join([message.content, *lines] if message.content else lines)))
    return rendered
