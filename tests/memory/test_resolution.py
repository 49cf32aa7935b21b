"""I19 (M-12.19): the memory of a run is that of `with_memory`, else the model's, else none; the order of builders and of steps
changes nothing (M-2.4, M-3.7, M-3.8)."""

from __future__ import annotations

import json

import concerto
from concerto.compiler.pipeline import compile_source
from concerto.vm.interp.link import load_image
from hypothesis import example, given, settings
from hypothesis import strategies as st

MEMORIES = ("field", "one", "other")
BUILDERS = (
    "with_memory(one)", "with_memory(other)", "with_memory(one, auto: false)", "with_memory(nil)", "with_context({ x: 1 })",
    "with_tools([T])", "without_tools()",
)  # fmt: skip
PROGRAM = """
/// Things.
tool T {{
    /// One.
    pub fn a(self) -> Int {{ 1 }}
}}
memory field: Memory = Memory::new();
memory one: Memory = Memory::new();
memory other: Memory = Memory::new();
model M {{ provider: offline{field} }}
pub fn first() -> Result<String, Error> {{ Ok(M{chain}.execute("a")?.text) }}
pub fn plain() -> Result<String, Error> {{ Ok(M.execute("b")?.text) }}
pub fn lens() -> Array<Int> {{ [field.len(), one.len(), other.len()] }}
"""
STEPS = ("retain(40)", "window(8, low: 3)", "tokens(900)", "roles([User, Assistant])", "pin([System])", "prune(similar: 0.5)",
         "on_failure(Record)", "on_conflict(Fork)", "tools()")  # fmt: skip


def written(chain):
    """Where the turn goes: the last with_memory sets memory and flag together."""
    target = "field"
    for call in chain:
        if call.startswith("with_memory"):
            target = None if "nil" in call or "false" in call else call.removeprefix("with_memory(").rstrip(")")
    return target


@given(st.lists(st.sampled_from(BUILDERS), max_size=4), st.booleans())
@example(["with_memory(one, auto: false)", "with_memory(other)"], True)
@settings(max_examples=40, deadline=None)
def test_run_beats_model_beats_none(chain, has_field):
    text = "".join(f".{call}" for call in chain)
    program = concerto.compile(PROGRAM.format(chain=text, field=", memory: field" if has_field else ""))
    with program.session(offline=True) as session:
        session.call("first")
        session.call("plain")  # a builder is a value: what it set is gone
        expected = dict.fromkeys(MEMORIES, 0)
        for target in (written(chain), "field"):
            if target is not None and (target != "field" or has_field):
                expected[target] += 2
        assert session.call("lens") == list(expected.values())


@given(st.permutations(STEPS))
@settings(max_examples=20, deadline=None)
def test_any_order_of_steps_is_one_policy(steps):
    def entry(order):
        source = f"memory m: Memory = Memory::new(){''.join(f'.{step}' for step in order)};\nfn main() {{}}\n"
        image = compile_source(source.encode(), "a.conc").image
        assert image is not None
        return json.dumps(load_image(image).image.memories, sort_keys=True, default=str)

    assert entry(steps) == entry(STEPS)
