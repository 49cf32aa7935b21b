"""What finds the mutants of `mutants`: the state machines, and tests called as functions, each as `check(folder)`."""

from __future__ import annotations

import random

from concerto.runtime.memory import memory, policy
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.stores.volatile import VolatileStore
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from ..fuzz.campaign_facts import histories, of_sqlite
from . import (
    combinations,
    contract,
    test_api,
    test_durability,
    test_evolution,
    test_facts,
    test_later_redaction,
    test_learning,
    test_memory_values,
    test_own_views,
    test_recall_items,
    test_recall_laws,
    test_resolution,
    test_runs,
    test_slots,
    test_tokens,
    test_views,
)
from .conftest import closing_all
from .test_faults import CallMachine
from .test_laws import LogMachine

QUICK = settings(
    max_examples=600, stateful_step_count=25, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
)  # fmt: skip


def log_machine(tmp_path):
    run_state_machine_as_test(LogMachine, settings=QUICK)


def call_machine(tmp_path):
    run_state_machine_as_test(CallMachine, settings=settings(QUICK, max_examples=60, stateful_step_count=12))


def memory_values(tmp_path):
    """Short ones: the long histories have tests of their own."""
    test_memory_values.test_two_values_of_one_chain_have_bounds_of_their_own()
    test_memory_values.test_what_a_value_begins_with_is_of_no_run()
    test_memory_values.test_what_nothing_refers_to_is_nowhere()
    test_memory_values.test_a_snapshot_holds_only_values_that_are_held()
    test_memory_values.test_values_that_ended_between_two_snapshots_do_not_come_back()
    deeds = [(kind, number) for number, kind in enumerate(test_memory_values.KINDS)]
    chain = "Memory::new().retain(%s(6), low: %s(2)).window(%s(3))"
    test_memory_values.same(test_memory_values.emits(chain, deeds))
def combined(tmp_path):
    """Few programs, so chosen that together they find each mutant of what views and summaries are made of."""
    for seed in combinations.TELLING:
        folder = tmp_path / str(seed)
        folder.mkdir()
        combinations.check(combinations.drawn(random.Random(seed)), "volatile", None, folder)


class Files:
    def __init__(self, folder):
        self.folder = folder
        self.number = 0

    def __call__(self):
        self.number += 1
        return SqliteStore(str(self.folder / f"{self.number}.db"))

    def again(self):
        return SqliteStore(str(self.folder / f"{self.number}.db"))


def budgets(tmp_path):
    test_views.test_pins_take_their_place_of_the_window()
    test_views.test_tokens_count_what_comes_first_and_stop_at_the_first_misfit()
    test_views.test_system_message_and_pins_alone_over_the_limit_are_an_error()
    test_views.test_a_budget_is_divided_by_weight()
    test_views.test_a_summary_counts_before_the_window()


def role(tmp_path):
    test_views.test_roles({"assistant"}, ["look"])


def copies(tmp_path):
    def make(**steps):
        return memory.Memory(policy.Policy(**steps))

    test_api.test_what_reading_gives_is_a_copy(make, {})


def isolation(tmp_path):
    contract.no_two_keys_meet(Files(tmp_path))


def store(tmp_path):
    for rule in contract.CONTRACT:
        rule(Files(tmp_path / rule.__name__))


def coverage(tmp_path):
    for steps in ({"window": 4}, {"retain": 4}, {"window": 4, "every_turns": 3}):
        test_runs.test_covered_and_raw_are_all_and_nothing_is_folded_twice(steps)


def erasing(tmp_path):
    test_runs.test_text_is_cut_and_goes_when_what_it_covers_goes()


def rewinding(tmp_path):
    test_runs.test_text_goes_when_what_it_covers_is_rewound()


def erased_files(tmp_path):
    folder = tmp_path / "erased"
    folder.mkdir()
    with closing_all() as opened:
        test_durability.test_erased_text_is_in_no_file(opened, folder)


def derived_facts(tmp_path):
    with closing_all() as opened:
        durable = test_facts.opening(opened)
        test_facts.test_erasing_takes_what_derives_from_it(durable, str(tmp_path / "memory.db"), test_facts.Clock())


def conflicts(tmp_path):
    test_runs.test_the_later_commit_conflicts("Reject")


def racing(tmp_path):
    with closing_all() as opened:
        test_durability.test_who_commits_between_look_and_write_is_seen(opened, tmp_path)


def waiting(tmp_path):
    test_runs.test_serial_turns_wait_for_each_other_in_order()


def failures(tmp_path):
    test_runs.test_discard()
    test_runs.test_tool_rounds_are_stored_only_with_tools()


def chats(tmp_path):
    test_runs.test_chat_stores_what_is_no_system_message()


def counting(tmp_path):
    test_tokens.test_arguments_results_and_media_count()
    for script in test_tokens.SCRIPTS:
        test_tokens.test_every_script_counts(script)


def versions(tmp_path):
    def make(name="chat"):
        return memory.Memory(name=name)

    test_api.test_a_damaged_dump_loads_nothing(make, lambda held: held.update(v=4), "Version")


def lists(tmp_path):
    test_views.test_a_pin_is_shown_once_and_where_it_stands()


def order(tmp_path):
    test_recall_laws.test_recall_is_sorted_by_a_total_order()


def filters(tmp_path):
    test_recall_laws.test_filters_act_before_k()


def permissions(tmp_path):
    for number in range(400):
        test_recall_items.permission_law(test_recall_items.SEED + number)


def items(tmp_path):
    for number in range(120):
        test_recall_items.items_law(test_recall_items.SEED + number)


def untouched(tmp_path):
    test_recall_laws.test_recall_without_touch_changes_nothing()


def one_key(tmp_path):
    test_recall_laws.test_recall_sees_one_key()


def decay(tmp_path):
    test_recall_laws.test_decay_is_in_closed_form()


def confirming(tmp_path):
    test_recall_laws.test_under_confirm_no_access_refreshes()


def feedback(tmp_path):
    test_recall_laws.test_what_is_only_shown_is_never_stored()


def rendering(tmp_path):
    test_views.test_tool_units_become_text_when_no_tools_are_offered()


def observing(tmp_path):
    test_learning.test_a_turn_is_observed_once_on_every_store(VolatileStore())


def resolution(tmp_path):
    test_resolution.test_run_beats_model_beats_none()


def slots(tmp_path):
    """Handles of one file, and what the contract says of a store."""
    swap, touch = contract.a_swap_stores_what_nobody_has_written_meanwhile, contract.a_touch_changes_only_what_still_says_the_same
    for rule in (swap, touch):
        rule(Files(tmp_path / rule.__name__))
    for race in range(8):  # in one of them nobody may come between
        files = Files(tmp_path / f"race{race}")
        files().keep(test_slots.KEY, 1, [], ())
        test_slots.raced([files.again() for _ in range(3)], 25)


def provenance(tmp_path):
    histories(lambda case: VolatileStore())(1, 400)
    of_sqlite(1, 40)


def evolution(tmp_path):
    for number, test in enumerate(
        (
            test_evolution.test_a_later_version_reads_what_an_earlier_one_wrote,
            test_evolution.test_a_slot_that_is_stored_under_both_names_is_read_under_none,
            test_evolution.test_a_memory_that_is_stored_under_both_names_is_refused,
            test_evolution.test_a_key_that_is_stored_with_and_without_its_part_is_refused,
        )
    ):
        folder = tmp_path / f"evolution{number}"
        folder.mkdir()
        with test_evolution.versions("file", folder) as called:
            test(called)


def later_redaction(tmp_path):
    test_later_redaction.test_entries_of_before_are_rewritten_once_and_those_of_now_never(VolatileStore())
    test_later_redaction.test_facts_and_summaries_of_before(VolatileStore())
def own_views(tmp_path):
    for steps in ("", ".window(3)"):
        test_own_views.own_views(tmp_path, 1, steps, False, "")


def refreshed_views(tmp_path):
    for seed in range(4):
        test_own_views.refreshed(tmp_path, seed)


def heard_events(tmp_path):
    test_own_views.events(tmp_path)


def folders(tmp_path):
    """The folders some of them want below the given one."""
    for rule in contract.CONTRACT:
        (tmp_path / rule.__name__).mkdir()
    return tmp_path
