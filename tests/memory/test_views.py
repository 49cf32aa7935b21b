"""Views and request layout (M-4): one example per step; random histories are in test_laws."""

import pytest
from concerto.compiler.checker.methods import VIEW_METHODS
from concerto.runtime.memory.entries import ViewState, count_text
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memories import Memories
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.methods import OF_A_VIEW
from concerto.runtime.memory.policy import Declaration, Policy, SummaryPolicy
from concerto.runtime.memory.stages import CLIPPED
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.memory.views import Recalled, request_head, view_of
from concerto.runtime.records import Call, Msg
from hypothesis import given
from hypothesis import strategies as st

UNIT = [Msg("assistant", "look", (Call("c1", "find", {"q": 1}),)), Msg("tool", "found it", (), "c1")]


def test_the_run_has_the_methods_of_a_view_that_the_checker_lets_pass():
    assert set(VIEW_METHODS) == {*OF_A_VIEW, "recall", "to_string"}


class ListSource:
    """Entries in a list as a source."""

    def __init__(self, entries):
        self.entries = entries
        self.length = len(entries)

    def pins(self):
        return [entry for entry in self.entries if entry.pinned]

    def back(self):
        return (entry for entry in reversed(self.entries) if not entry.pinned)

    def newest(self, limit):
        plain = [entry for entry in self.entries if not entry.pinned]
        return plain[max(0, len(plain) - limit) :]


def filled(policy, *messages):
    return fill(Memory(policy), *messages)


def fill(memory, *messages):
    for each in messages:
        if isinstance(each, list):
            memory.append_all(each)
        elif isinstance(each, tuple):
            memory.pin(*each)
        else:
            memory.append("user", each)
    return memory


def shown(memory, **given):
    return [message.content for message in memory.view(**given)[0].middle()]


def test_without_view_steps_the_view_is_the_log():
    assert shown(filled(Policy(), "a", "b")) == ["a", "b"]


def test_window_counts_messages_and_keeps_units_whole():
    memory = filled(Policy(window=3), "a", UNIT, "b", "c")
    assert shown(memory) == ["b", "c"]
    assert shown(filled(Policy(window=4), "a", UNIT, "b", "c")) == ["look", "found it", "b", "c"]


def test_pins_take_their_place_of_the_window():
    memory = filled(Policy(window=3), ("system", "rules"), "a", "b", "c")
    assert shown(memory) == ["rules", "b", "c"]
    beside = Policy(window=3, roles=frozenset({"user"}))
    assert shown(filled(beside, ("system", "rules"), "a", "b", "c")) == ["rules", "b", "c"]
    assert shown(filled(Policy(window=1), ("system", "x"), ("system", "y"), "a")) == ["x", "y"]


def test_pins_stand_where_they_stood():
    view, _ = filled(Policy(window=4), ("user", "old"), "a", "b", ("user", "mid"), "c").view()
    assert [message.content for message in view.before] == ["old"]
    assert [message.content for message in view.window] == ["b", "mid", "c"]


def test_window_of_turns():
    memory = filled(Policy(window_turns=2), "a", [Msg("user", "b"), Msg("assistant", "c")], "d")
    assert shown(memory) == ["b", "c", "d"]


def test_the_cut_moves_only_when_the_bound_is_exceeded():
    memory = Memory(Policy(window=6, window_low=3))
    starts = []
    for n in range(12):
        memory.append("user", str(n))
        starts.append(int(shown(memory)[0]))
    assert starts == [0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"user", "assistant", "tool"}, ["u", "look", "found it"]),
        ({"assistant"}, ["look"]),
        ({"tool"}, []),
        ({"system"}, ["s"]),
        ({"user", "system"}, ["s", "u"]),
    ],
)
def test_roles(roles, expected):
    memory = Memory(Policy(roles=frozenset(roles)))
    memory.append("system", "s")
    memory.append("user", "u")
    memory.append_all(UNIT)
    assert shown(memory) == expected
    if "tool" not in roles:
        assert not any(message.calls for message in memory.view()[0].middle())


def test_prune_hides_what_a_newer_turn_repeats():
    memory = filled(Policy(prune=0.5), "how do I sort a list", "unrelated words", "how do I sort a table", "", "")
    assert shown(memory) == ["unrelated words", "how do I sort a table", "", ""]


def test_prune_keeps_pins_and_tools():
    memory = filled(Policy(prune=0.5), ("user", "same words"), "same words", UNIT, UNIT)
    assert shown(memory) == ["same words", "same words", "look", "found it", "look", "found it"]


def test_clip():
    long = [Msg("assistant", "", (Call("c", "f", {}),)), Msg("tool", "é" * 100, (), "c")]
    memory = filled(Policy(clip=20), long)
    clipped = shown(memory)[1]
    assert clipped.startswith("éé") and clipped.endswith(CLIPPED)
    assert count_text(clipped) <= 20 < count_text(clipped + "éé")
    assert memory.messages()[1].content == "é" * 100
    assert shown(filled(Policy(clip=20, clip_with=lambda text: f"{len(text)} letters"), long))[1] == "100 letters"


def test_tokens_count_what_comes_first_and_stop_at_the_first_misfit():
    memory = filled(Policy(tokens=40), "a", "b" * 60, "c")
    assert shown(memory, prompt_tokens=15) == ["b" * 60, "c"]
    assert shown(memory, prompt_tokens=20) == ["c"]
    assert shown(memory, prompt_tokens=100) == []
    view, _ = memory.view(prompt_tokens=100)
    assert (view.needed, view.budget, view.overflows) == (100, 40, True)


def test_system_message_and_pins_alone_over_the_limit_are_an_error():
    memory = filled(Policy(tokens=10), ("system", "x" * 40))
    with pytest.raises(MemoryFailure) as raised:
        memory.view()
    assert (raised.value.variant, raised.value.fields) == ("Overflow", {"needed": 14, "budget": 10, "seqs": [0]})


def test_under_pressure_facts_leave_from_the_worst_then_the_summary():
    policy = Policy(tokens=60, summary=SummaryPolicy())
    source = ListSource([])
    recalled = Recalled("Suffix", [(0.9, "- best: " + "x" * 20), (0.5, "- worst: " + "y" * 20)])
    state = ViewState("", 0, "s" * 20, 5)

    def texts(prompt_tokens):
        return [text[:9] for _, _, text in view_of(policy, source, state, prompt_tokens=prompt_tokens, recalled=recalled).texts]

    assert texts(0) == ["[summary]", "[recalled"]
    assert "worst" not in view_of(policy, source, state, prompt_tokens=20, recalled=recalled).joined("Suffix")
    assert texts(45) == ["[summary]"]
    assert texts(60) == []


def test_a_summary_counts_before_the_window():
    policy = Policy(tokens=40, summary=SummaryPolicy())
    source = filled(Policy(), "a", "b", "c", "d", "e").entries()
    for text, expected in (("", ["b", "c", "d", "e"]), ("s" * 34, ["e"])):
        view = view_of(policy, ListSource(source), ViewState("", 0, text, 9), prompt_tokens=20)
        assert [message.content for message in view.window] == expected
        assert view.needed <= 40


def test_shape():
    memory = filled(Policy(shape=lambda messages: messages[:1] + messages[-1:]), "a", "b", "c")
    assert shown(memory) == ["a", "c"]
    with pytest.raises(MemoryFailure) as raised:
        filled(Policy(shape=lambda messages: messages[1:]), UNIT).view()
    assert raised.value.variant == "InvalidUnit"


def test_an_uncovered_unit_stays_beyond_the_window():
    source = filled(Policy(), "a", "b", "c", "d").entries()
    policy = Policy(window=1, summary=SummaryPolicy())
    for upto, expected in ((-1, ["a", "b", "c", "d"]), (1, ["c", "d"]), (3, ["d"])):
        view = view_of(policy, ListSource(source), ViewState("", 0, "", upto))
        assert [message.content for message in view.middle()] == expected


def test_layout():
    memory = filled(Policy(window=2), ("user", "pinned"), "a", "b")
    view, _ = memory.view()
    view.texts = [(place, "system", place) for place in ("System", "Prefix", "Suffix", "Prompt")]
    head, lead = request_head([view], "You help.", True)
    assert [(message.role, message.content) for message in head] == [
        ("system", "You help.\n\nSystem"),
        ("user", "pinned"),
        ("system", "Prefix"),
        ("user", "b"),
        ("system", "Suffix"),
    ]
    assert lead == "Prompt"
    assert view.messages("q")[-1].content == "Prompt\n\nq"


def test_tool_units_become_text_when_no_tools_are_offered():
    view, _ = filled(Policy(), UNIT, "u").view()
    assert [message.content for message in request_head([view], None, False)[0]] == ['look\n[find({"q":1}) -> found it]', "u"]
    assert len(request_head([view], None, True)[0]) == 3


# ---------------------------------------------------------------- derived views and lists


def derived():
    memories = Memories(
        [
            Declaration("all"),
            Declaration("tail", Policy(window=2, weight=3), of="all"),
            Declaration("said", Policy(roles=frozenset({"user"})), of="all"),
        ]
    )
    for n in range(4):
        memories["all"].append("user" if n % 2 == 0 else "assistant", str(n))
    return memories


def test_a_derived_view_reads_under_its_own_steps():
    memories = derived()
    tail = memories["tail"]
    assert [message.content for message in tail.messages()] == ["2", "3"]
    assert [message.content for message in memories["said"].messages()] == ["0", "2"]
    assert [message.content for message in tail.last(1)] == ["3"]
    assert (len(tail), tail.is_empty(), tail.tokens(), tail.summary()) == (2, False, 10, None)


def contents(run):
    return [message.content for message in run.head]


def test_views_of_one_log_are_shown_as_one():
    memories = derived()
    base = memories["all"]
    run = open_run([Attached(base, "said"), Attached(base, "tail")], "r", [Msg("user", "q")])
    assert contents(run) == ["0", "2", "3"]
    run.commit("reply")
    assert [message.content for message in base.last(2)] == ["q", "reply"]


def test_a_pin_is_shown_once_and_where_it_stands():
    memories = derived()
    memories["all"].pin("user", "pinned")
    run = open_run([Attached(memories["all"], "said"), Attached(memories["all"], "tail")], "r", [Msg("user", "q")])
    assert contents(run) == ["0", "2", "3", "pinned"]


def test_a_unit_is_shown_with_its_results_if_a_view_shows_them():
    memories = Memories([Declaration("all"), Declaration("said", Policy(roles=frozenset({"user", "assistant"})), of="all")])
    fill(memories["all"], "a", UNIT, "u")
    for names in (("said", ""), ("", "said")):
        run = open_run([Attached(memories["all"], name) for name in names], "r", [Msg("user", "q")], tools_offered=True)
        assert contents(run) == ["a", "look", "found it", "u"]


def test_a_shaped_view_stands_for_itself():
    shape = Policy(window=2, shape=lambda messages: [Msg("user", "/".join(message.content for message in messages))])
    said = Declaration("said", Policy(window=3), of="all")
    memories = Memories([Declaration("all"), Declaration("told", shape, of="all"), said])
    fill(memories["all"], "a", "b", "c", "d")
    for names, wanted in ((("told", "said"), ["c/d", "b"]), (("said", "told"), ["b", "c/d"])):
        run = open_run([Attached(memories["all"], name) for name in names], "r", [Msg("user", "q")])
        assert contents(run) == wanted


@given(
    size=st.integers(0, 14),
    pinned=st.sets(st.integers(0, 13), max_size=3),
    steps=st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "window": st.integers(1, 8), "tokens": st.integers(30, 90), "window_turns": st.integers(1, 4),
                "roles": st.sampled_from([frozenset({"user"}), frozenset({"user", "assistant"})]), "prune": st.just(0.9),
            },
        ),
        min_size=2, max_size=4,
    ),
)  # fmt: skip
def test_a_list_shows_the_union_in_log_order(size, pinned, steps):
    policies = [Policy(**step) for step in steps]
    names = [f"v{number}" for number in range(len(policies))]
    memories = Memories(
        [Declaration("all"), *(Declaration(name, policy, of="all") for name, policy in zip(names, policies, strict=True))]
    )
    for n in range(size):
        role = ("user", "assistant", "system")[n % 3]
        (memories["all"].pin if n in pinned else memories["all"].append)(role, str(n))
    alone = [open_run([Attached(memories["all"], name)], "r", [Msg("user", "q")]) for name in names]
    run = open_run([Attached(memories["all"], name) for name in names], "r", [Msg("user", "q")])
    shown = [int(message.content) for message in run.head]
    assert shown == sorted({int(message.content) for each in alone for message in each.head})


def test_a_budget_is_divided_by_weight():
    notes = filled(Policy(), *(f"n{n}" for n in range(20)))
    memories = derived()
    asked = [Msg("user", "q")]
    run = open_run([Attached(notes), Attached(memories["all"], "tail")], "r", asked, system="s", tokens=50)
    rest = 50 - 5 - 5
    assert [len(view.entries) for view in run.views] == [rest // 4 // 5, 2]
    with pytest.raises(MemoryFailure) as raised:
        open_run([Attached(filled(Policy(), ("user", "x" * 400)))], "r", asked, tokens=50)
    assert raised.value.variant == "Overflow"
