"""Every law fails when the code breaks it (section 12): faults planted in the source, one at a time.

A mutant replaces one piece of text of a module; its functions run with the changed code until the check is over.
"""

from __future__ import annotations

import inspect
import types
from contextlib import contextmanager

import pytest
from concerto.runtime.memory import (
    branching,
    changes,
    dumps,
    entries,
    keys,
    memory,
    policy,
    reading,
    stages,
    summaries,
    tokens,
    turns,
    views,
)
from concerto.runtime.memory.stores import sql, volatile
from concerto.runtime.memory.stores.sqlite import SqliteStore
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from . import contract, test_api, test_runs, test_tokens, test_views
from .test_laws import LogMachine

QUICK = settings(
    max_examples=150, stateful_step_count=25, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
)  # fmt: skip


@contextmanager
def mutated(module, old, new):
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{module.__name__} has {source.count(old)} times: {old}"
    made = types.ModuleType(module.__name__)
    made.__dict__.update(__package__=module.__package__, __file__=module.__file__)
    exec(compile(source.replace(old, new), module.__file__, "exec", dont_inherit=True), made.__dict__)
    pairs = list(_functions(module, made))
    kept = [(function, function.__code__) for function, _ in pairs]
    try:
        for function, mutant in pairs:
            function.__code__ = mutant.__code__
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def _functions(module, made):
    """Functions and methods of the module beside those of its mutant."""
    for name, value in vars(module).items():
        other = getattr(made, name, None)
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            yield value, other
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for attribute, method in vars(value).items():
                if isinstance(method, types.FunctionType) and not method.__closure__:
                    yield method, vars(other)[attribute]


# ---------------------------------------------------------------- what finds them


def laws(tmp_path):
    run_state_machine_as_test(LogMachine, settings=QUICK)


class Files:
    def __init__(self, folder):
        self.folder = folder
        self.number = 0

    def __call__(self):
        self.number += 1
        return SqliteStore(str(self.folder / f"{self.number}.db"))

    def again(self):
        return SqliteStore(str(self.folder / f"{self.number}.db"))


def pins(tmp_path):
    test_views.test_pins_take_their_place_of_the_window()
    test_views.test_tokens_count_what_comes_first_and_stop_at_the_first_misfit()
    test_views.test_system_message_and_pins_alone_over_the_limit_are_an_error()
    test_views.test_a_budget_is_divided_by_weight()


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


def conflicts(tmp_path):
    test_runs.test_the_later_commit_conflicts("Reject")


def failures(tmp_path):
    test_runs.test_discard()
    test_runs.test_tool_rounds_are_stored_only_with_tools()


def counting(tmp_path):
    test_tokens.test_arguments_results_and_media_count()
    for script in test_tokens.SCRIPTS:
        test_tokens.test_every_script_counts(script)


def versions(tmp_path):
    def make(name="chat"):
        return memory.Memory(name=name)

    test_api.test_a_damaged_dump_loads_nothing(make, lambda held: held.update(v=2), "Version")


MUTANTS = {
    "window cut by message": (laws, views, "units_back(source.back())\n    return", "([e] for e in source.back())\n    return"),
    "roles filter drops results only": (role, stages, "return [shown_as(first, Msg(", "return unit[:1] or [shown_as(first, Msg("),
    "retain by message": (laws, changes, "going = units(unpinned)", "going = iter([[entry] for entry in unpinned])"),
    "evict newest": (laws, changes, "going = units(unpinned)", "going = iter(list(units(unpinned))[::-1])"),
    ">= for >": (laws, changes, "count > policy.retain)", "count >= policy.retain)"),
    "last(-1) = all": (laws, reading, "if n <= 0:\n            return []", "if n <= 0:\n            return self.messages()"),
    "newest unit evicted": (laws, changes, "newest = unit[-1].seq >= last if new", "newest = False if new"),
    "retain evicts pins": (laws, changes, "yield from self.log.forward(pinned=False)", "yield from self.log.forward()"),
    "pins not counted in the window": (pins, views, "else policy.window - pinned", "else policy.window"),
    "pins not counted in the window's slice": (pins, views, "max(window - len(pins), 0)", "window"),
    "pins not counted in the budget": (pins, views, "_tokens_of(system) + pinned > limit", "_tokens_of(system) > limit"),
    "prompt not counted": (pins, views, "_tokens_of(system) + prompt_tokens", "_tokens_of(system)"),
    "skip a unit that does not fit and go on": (pins, views, "if reason:\n            break", "if reason:\n            continue"),
    "pins moved to front": (laws, views, "if first is None or pin.seq < first", "if True"),
    "cut moves at every commit": (
        laws,
        views,
        "policy.window:\n        return state\n    room",
        "0:\n        return state\n    room",
    ),
    "seq not set back": (laws, memory, "next=first,", "next=log.head.next,"),
    "run ids lost on load": (laws, entries, 'run=held["run"]', "run=None"),
    "load evicts": (laws, memory, "entries=content.entries, turns", "entries=content.entries[1:], turns"),
    "fork shares the list": (laws, branching, "wanted = with_branch(key, name)\n    if name ==", "wanted = key\n    if name =="),
    "returned list aliases the log": (copies, reading, "return list(self._log.messages())", "return self._log.messages()"),
    "stored run forgotten": (laws, volatile, "self.runs[turn.run] = turn.turn", "pass"),
    "turn of half its messages": (laws, volatile, "in batch.entries:\n", "in batch.entries[:1]:\n"),
    "keys joined by a colon": (isolation, keys, 'b"".join(parts)', '":".join(map(str, key)).encode("utf-8", "surrogatepass")'),
    "keys case-folded": (isolation, keys, "data = str(part).encode", "data = str(part).casefold().encode"),
    "last writer wins": (store, sql, "if not done:", "if False:"),
    "run ids not compared": (store, sql, "raise _AlreadyStored\n", "pass\n"),
    "turn records kept": (store, sql, "for number in sorted(numbers)]", "for number in ()]"),
    "no check of the version": (conflicts, memory, "if expect is not None and log.head.version != expect:", "if False:"),
    "fold repeats": (coverage, summaries, "folded[-1][-1].seq)", "state.upto)"),
    "evict before fold is stored": (coverage, changes, "return min(upto) if upto else None", "return None"),
    "error text becomes summary": (
        coverage,
        summaries,
        "reason = str(error) or",
        "store_fold(memory, fold, 'x'); reason = str(error) or",
    ),
    "summary kept when erased": (erasing, branching, "[state.without_summary() for", "[state for"),
    "abandoned run stored": (failures, turns, 'if memory.policy.on_failure == "Record" and', "if"),
    "failed attempt kept": (failures, turns, "self.rounds.clear()", "pass"),
    "arguments not counted": (counting, tokens, "held += text_bytes(call.name)", "held += 0 * text_bytes(call.name)"),
    "ASCII only": (counting, tokens, 'len(text.encode("utf-8", "surrogatepass"))', "len(text)"),
    "rounded down": (counting, tokens, "- (-count // BYTES_PER_TOKEN)", "+ count // BYTES_PER_TOKEN"),
    "newer accepted": (versions, dumps, "if version > FORMAT:", "if False:"),
}


def folders(tmp_path):
    for rule in contract.CONTRACT:
        (tmp_path / rule.__name__).mkdir()
    return tmp_path


@pytest.mark.parametrize("check", sorted({row[0] for row in MUTANTS.values()} - {laws}, key=lambda check: check.__name__))
def test_the_code_as_it_is_passes(check, tmp_path):
    check(folders(tmp_path))


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(name, tmp_path):
    check, module, old, new = MUTANTS[name]
    with mutated(module, old, new), pytest.raises((Exception, pytest.fail.Exception)):
        check(folders(tmp_path))
