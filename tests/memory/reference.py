"""What section 12 calls the oracle: logs and views computed from whole lists, the slow and obvious way."""

from __future__ import annotations

from concerto.runtime.memory.entries import count_message, count_text
from concerto.runtime.memory.terms import terms


def units_of(entries):
    found = []
    for entry in entries:
        if entry.role == "tool" and found:
            found[-1].append(entry)
        else:
            found.append([entry])
    return found


def retained(policy, entries, newest_unit_from):
    """The log after retention: M-4.2 said as a loop over lists."""
    units = units_of(entries)

    def size():
        return sum(map(len, units))

    def weight():
        return sum(entry.tokens for unit in units for entry in unit)

    def over(most):
        return (most is not None and size() > most) or (policy.retain_tokens is not None and weight() > policy.retain_tokens)

    if not over(policy.retain):
        return entries
    most = policy.retain_low if policy.retain_low is not None else policy.retain
    while over(most):
        going = next((unit for unit in units if not unit[0].pinned and unit[0].seq < newest_unit_from), None)
        if going is None:
            break
        units.remove(going)
    return [entry for unit in units for entry in unit]


def newest_unit(entries):
    return units_of(entries)[-1][0].seq if entries else 0


def after_roles(policy, unit):
    if policy.roles is None or unit[0].pinned:
        return [(entry.seq, entry.message, entry.tokens) for entry in unit]
    first = unit[0]
    if first.role not in policy.roles:
        return []
    if not first.message.calls or "tool" in policy.roles:
        return [(entry.seq, entry.message, entry.tokens) for entry in unit]
    if not first.message.content:
        return []
    text = type(first.message)("assistant", first.message.content)
    return [(first.seq, text, count_message(text))]


def hidden_turns(policy, entries):
    """M-4.7 over what roles leave."""
    if policy.prune is None:
        return set()
    turns = {}
    for unit in units_of(entries):
        turns.setdefault(unit[0].turn, []).append(unit)
    hidden, newer = set(), []
    for number in sorted(turns, reverse=True):
        units = turns[number]
        plain = [unit for unit in units if not unit[0].pinned]
        shown = [message for unit in plain for _, message, _ in after_roles(policy, unit)]
        if not shown:
            continue
        words = {word for message in shown for word in terms(message.content)}
        stays = len(plain) < len(units) or any(message.calls for message in shown) or not words
        if not stays and any(len(words & other) / len(words | other) >= policy.prune for other in newer):
            hidden.add(number)
        elif words:
            newer.append(words)
    return hidden


def view(policy, entries, cut, fixed_tokens=0):
    """The seqs a view shows, for policies without summary, shape and clip."""
    pins = [entry for entry in entries if entry.pinned]
    hidden = hidden_turns(policy, entries)
    shown = [after_roles(policy, unit) for unit in units_of(entries) if not unit[0].pinned and unit[0].turn not in hidden]
    shown = [unit for unit in shown if unit]
    turn_of = {entry.seq: entry.turn for entry in entries}
    start = 0
    for at in range(len(shown), -1, -1):
        suffix = shown[at:]
        if not _allowed(policy, suffix, len(pins), cut, turn_of):
            break
        start = at
    suffix = shown[start:]
    if policy.tokens is not None:
        room = policy.tokens - fixed_tokens - sum(pin.tokens for pin in pins)
        while suffix and sum(tokens for unit in suffix for _, _, tokens in unit) > room:
            suffix = suffix[1:]
    return sorted([seq for unit in suffix for seq, _, _ in unit] + [pin.seq for pin in pins])


def _allowed(policy, suffix, pins, cut, turn_of):
    count = sum(map(len, suffix))
    if not suffix:
        return True
    if policy.window is not None and policy.window_low is None and count + pins > policy.window:
        return False
    if policy.window_low is not None and suffix[0][0][0] < cut:
        return False
    return policy.window_turns is None or len({turn_of[unit[0][0]] for unit in suffix}) <= policy.window_turns


def next_cut(policy, entries, cut, next_seq):
    """M-4.10: the suffix from the cut, cut again only when it exceeds the bound."""
    if policy.window_low is None:
        return cut
    pins = sum(entry.pinned for entry in entries)
    hidden = hidden_turns(policy, entries)
    shown = [after_roles(policy, unit) for unit in units_of(entries) if not unit[0].pinned and unit[0].turn not in hidden]
    shown = [unit for unit in shown if unit and unit[0][0] >= cut]
    if sum(map(len, shown)) + pins <= policy.window:
        return cut
    while shown and sum(map(len, shown)) + pins > policy.window_low:
        shown = shown[1:]
    return shown[0][0][0] if shown else next_seq


def prompt_tokens(prompt):
    return count_text(prompt)
