"""Random histories: texts of every script, units with permuted results, policies (section 12)."""

from __future__ import annotations

from concerto.runtime.memory.policy import Policy
from concerto.runtime.records import Call, Msg
from hypothesis import strategies as st

TEXTS = st.sampled_from(["", "a", "hello world", "hello world again", "naïve ':\0\"", "𝄞𝄞𝄞", "東京タワー", "x" * 40]) | st.text(
    max_size=12
)
ROLES = st.sampled_from(["user", "assistant", "system"])


@st.composite
def tool_units(draw, number=0):
    ids = draw(st.permutations([f"c{number}-{n}" for n in range(draw(st.integers(1, 3)))]))
    calls = [Call(id, "find", {"q": draw(TEXTS)}) for id in ids]
    results = draw(st.permutations([Msg("tool", draw(TEXTS), (), id) for id in ids]))
    return [Msg("assistant", draw(TEXTS), calls), *results]


def single_messages():
    return st.builds(lambda role, text: [Msg(role, text)], ROLES, TEXTS)


def units():
    return single_messages() | tool_units()


@st.composite
def turns(draw):
    return [message for unit in draw(st.lists(units(), min_size=1, max_size=3)) for message in unit]


def base_forms():
    """Policies without steps: logs kept this way have a fast lane of their own."""
    return st.builds(lambda retain: Policy(retain=retain), st.none() | st.integers(1, 8))


@st.composite
def policies(draw):
    retain = draw(st.none() | st.integers(1, 8))
    window = draw(st.none() | st.integers(1, 8))
    fields = {
        "retain": retain,
        "retain_low": draw(st.none() | st.integers(1, retain - 1)) if retain is not None and retain > 1 else None,
        "retain_tokens": draw(st.none() | st.integers(1, 80)),
        "tools": draw(st.booleans()),
        "roles": draw(st.none() | st.frozensets(st.sampled_from(["user", "assistant", "system", "tool"]), min_size=1)),
        "pin_roles": draw(st.just(frozenset()) | st.frozensets(st.sampled_from(["system", "tool"]))),
        "prune": draw(st.none() | st.sampled_from([0.4, 0.9])),
        "window": window,
        "window_low": draw(st.none() | st.integers(1, window - 1)) if window is not None and window > 1 else None,
        "window_turns": draw(st.none() | st.integers(1, 4)),
        "tokens": draw(st.none() | st.integers(1, 120)),
    }
    return Policy(**fields)
