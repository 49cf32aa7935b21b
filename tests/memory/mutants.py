"""The mutants of section 12 of docs/spec/memory.md, law by law: what the code is changed into, and which check has to find it.

`python -m tests.memory.mutants` plants them one after another and prints the table (`make mutants`).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from concerto.runtime.calls import call
from concerto.runtime.effects import memory_callbacks, models
from concerto.runtime.memory import (
    bounds,
    changes,
    conversation,
    entries,
    facts,
    keys,
    log,
    memories,
    memory,
    policy,
    reader,
    recall,
    redaction,
    remembering,
    retention,
    stages,
    summaries,
    turns,
    views,
)
from concerto.runtime.memory.stores import sql, sqlite, volatile
from concerto.vm.builtins import json
from concerto.vm.values import handles

from . import finding
from .planting import mutated


class Mutant(NamedTuple):
    module: object
    old: str
    new: str
    check: object
    more: tuple = ()
    """Further changes of the same module."""

    def planted(self):
        return mutated(self.module, (self.old, self.new), *self.more)


LOG, CALL = finding.log_machine, finding.call_machine
MEASURED = "outcome = await judge(plan.schema, reply, validators)\n"

MUTANTS = {
    "M-12.1": {
        "window cut by message": Mutant(
            views, "units_back(source.back()), {pin.turn for pin in pins}):\n        reason",
            "([e] for e in source.back()), {pin.turn for pin in pins}):\n        reason", LOG,
        ),
        "roles filter drops results only": Mutant(
            stages, "return [shown_as(first, Msg(", "return unit[:1] or [shown_as(first, Msg(", finding.role
        ),
        "tool units sent where no tools are offered": Mutant(
            views, "if tools_offered or not any(message.calls for message in middle)", "if True", finding.rendering
        ),
        "retain by message": Mutant(
            retention, "self._units = units(unpinned)", "self._units = iter([[entry] for entry in unpinned])", LOG
        ),
    },
    "M-12.2": {
        "evict newest": Mutant(
            retention, "self._units = units(unpinned)", "self._units = iter(list(units(unpinned))[::-1])", LOG
        ),
        "`>=` for `>`": Mutant(retention, "log.messages > most", "log.messages >= most", LOG),
        "`last(-1)` = all": Mutant(
            reader, "if n <= 0:\n            return []", "if n <= 0:\n            return self.messages()", LOG
        ),
    },
    "M-12.3": {
        "summary not counted": Mutant(
            views, "return fixed + _tokens_of_texts(texts)", "return fixed", finding.budgets
        ),
        "newest unit evicted": Mutant(
            retention, "newest = unit[-1].seq >= self._newest if self._newest", "newest = False if self._newest", LOG
        ),
        "arguments not counted": Mutant(
            entries, "size += text_bytes(call.name)", "size += 0 * text_bytes(call.name)", finding.counting
        ),
        "pins not counted in the window": Mutant(views, "else policy.window - pinned", "else policy.window", finding.budgets),
        "pins not counted in the window's slice": Mutant(views, "max(window - len(pins), 0)", "window", finding.budgets),
        "pins not counted in the budget": Mutant(
            views, "_tokens_of(system) + pinned > limit", "_tokens_of(system) > limit", finding.budgets
        ),
        "prompt not counted": Mutant(views, "_tokens_of(system) + prompt_tokens", "_tokens_of(system)", finding.budgets),
    },
    "M-12.4": {
        "skip a unit that does not fit and go on": Mutant(
            views, "if reason:\n            break", "if reason:\n            continue", LOG
        ),
        "pins moved to front": Mutant(views, "if first is None or pin.seq < first", "if True", LOG),
        "cut moves at every commit": Mutant(
            views, "policy.window:\n        return state\n    room", "0:\n        return state\n    room", LOG
        ),
    },
    "M-12.5": {
        "retain evicts pins": Mutant(
            changes, "yield from self.log.forward(pinned=False)", "yield from self.log.forward()", LOG
        ),
        "pins windowed": Mutant(
            views, "else source.pins()\n    texts", "else source.pins()[-(policy.window or 99) :]\n    texts", LOG,
        ),
        "system prompt stored": Mutant(
            turns, 'for message in self.prompt\n            if message.role != "system"',
            "for message in self.prompt\n            if True", finding.chats,
        ),
    },
    "M-12.6": {
        "token limit drops prompt": Mutant(
            call, "*self.messages[:-1], self.user, *self.tail, *going_on]",
            "*self.messages[:-1], *[self.user][: len(self.prompt) < 200], *self.tail, *going_on]", CALL,
        ),
        "prompt stored before the call": Mutant(
            call, "self.head = await conversation.open(",
            'self.conversation.memory.append("user", self.prompt); self.head = await conversation.open(', CALL,
        ),
    },
    "M-12.7": {
        "append before validation": Mutant(
            call, MEASURED, f'self.conversation.memory.append("assistant", reply.text); {MEASURED}', CALL
        ),
        "write during run without rollback": Mutant(
            turns, 'self.rounds += [Draft(result, "tool") for result in results]',
            'self.rounds += [Draft(result, "tool") for result in results]; self.target.append("user", text)', CALL,
        ),
        "two commits": Mutant(
            turns, "self._store(stored, tokens_in, tokens_out, learn)",
            "self._store(stored[:-1], 0, 0, None); self.target.write([last])", CALL,
        ),
        "notice stored on cancel": Mutant(
            turns, 'if memory.policy.on_failure == "Record" and', 'if (memory.policy.on_failure, cause) != ("Discard", "x") and',
            finding.failures,
        ),
        "stored run forgotten": Mutant(volatile, "self.runs[turn.run] = turn.turn", "pass", LOG),
        "turn of half its messages": Mutant(volatile, "in batch.entries:\n", "in batch.entries[:1]:\n", LOG),
        "run ids not compared": Mutant(sql, "raise _AlreadyStored\n", "pass\n", finding.store),
        "turn records kept": Mutant(sql, "for number in sorted(numbers)]", "for number in ()]", finding.store),
        "abandoned run stored": Mutant(turns, 'if memory.policy.on_failure == "Record" and', "if", finding.failures),
    },
    "M-12.8": {
        "retry text stored": Mutant(
            call, "self._begin(why_block(outcome, retry_message))",
            "self._begin(why_block(outcome, retry_message))\n"
            '            self.conversation.run.prompt = [Msg("user", self.user.content)]', CALL,
        ),
        "failed reply in next attempt": Mutant(
            call, "self._begin(why_block(",
            'self.head = [*self.head, Msg("assistant", reply.text)]; self._begin(why_block(', CALL,
        ),
        "exhausted attempt stored": Mutant(
            call, "self._fall_back(self._exhausted(outcome, reply))",
            "self._commit(reply)(); self._fall_back(self._exhausted(outcome, reply))", CALL,
        ),
        "failed attempt kept": Mutant(turns, "self.rounds.clear()", "pass", CALL),
    },
    "M-12.9": {
        "fold in `view`": Mutant(
            reader, "return view, log.head\n",
            "self.store.views(self.key) or view.window and self.append('system', 'folded')\n            return view, log.head\n",
            LOG,
        ),
        "access without touch": Mutant(remembering, "if touch and (hits or self.degraded):", "if hits:", finding.untouched),
        "returned array aliases L": Mutant(
            reader, "return list(self._log.messages())", "return self._log.messages()", finding.copies
        ),
    },
    "M-12.10": {
        "index slice": Mutant(
            reader, "return [entry.message for entry in self.store.entries(self.key, run=run_id)]",
            "return self.last(len(self.store.entries(self.key, run=run_id)) + 1)[:-1]", LOG,
        ),
        "run ids lost on load": Mutant(entries, 'run=stored["run"]', "run=None", LOG),
    },
    "M-12.11": {
        "error text becomes summary": Mutant(
            summaries, "reason = str(error) or", "store_fold(memory, fold, 'x'); reason = str(error) or", finding.coverage
        ),
        "evict before fold is stored": Mutant(changes, "return min(upto) if upto else None", "return None", finding.coverage),
        "fold repeats": Mutant(summaries, "folded[-1][-1].seq)", "state.upto)", finding.coverage),
    },
    "M-12.12": {
        "newer accepted": Mutant(log, "if version > FORMAT:", "if False:", finding.versions),
        "unknown part dropped": Mutant(entries, "opaque.append(part)", "pass", finding.store),
        "load evicts": Mutant(memory, "entries=content.entries, turns", "entries=content.entries[1:], turns", LOG),
    },
    "M-12.13": {
        "keys joined by `:`": Mutant(
            keys, 'b"".join(parts)', '":".join(map(str, key)).encode("utf-8", "surrogatepass")', finding.isolation
        ),
        "key case-folded": Mutant(keys, "data = str(part).encode", "data = str(part).casefold().encode", finding.isolation),
        "recall without key": Mutant(
            reader, "return self.session.facts(self.key)",
            "return [fact for key in self.session.keys(self.key[:2]) for fact in self.session.facts(key)]", finding.one_key,
        ),
    },
    "M-12.14": {
        "last writer wins": Mutant(sql, "if not done:", "if False:", finding.store),
        "check outside the transaction": Mutant(
            sql, "        try:\n            with self._transaction():\n                changes = [",
            "        for key, expect, _ in writes:\n            if self.head(key).version != expect:\n"
            "                raise conflict(expect, self.head(key).version)\n"
            "        try:\n            with self._transaction():\n                changes = [",
            finding.racing, (("if not done:", "if False:"),),
        ),
        "lock per operation": Mutant(
            conversation, "            self._locked = True\n",
            "            self._locked = False\n            self.locks.release(self.memory)\n", finding.waiting,
        ),
        "no check of the version": Mutant(
            memory, "if expect is not None and log.head.version != expect:", "if False:", finding.conflicts
        ),
    },
    "M-12.15": {
        "fork shares list": Mutant(
            log, "branch_key = with_branch(key, name)\n    if name ==", "branch_key = key\n    if name ==", LOG
        ),
        "summary survives rewind": Mutant(
            log, "remaining = state if state.upto < end else state.without_summary()", "remaining = state", finding.rewinding
        ),
        "seq not set back": Mutant(memory, "next=first,", "next=log.head.next,", LOG),
    },
    "M-12.16": {
        "no floor": Mutant(facts, "return max(min(decay.floor, fact.c0), faded)", "return max(0.0, faded)", finding.decay),
        "compounding": Mutant(
            facts, "faded = fact.c0 - decay.rate * max(0, now - fact.refreshed) / decay.per",
            "faded = fact.c0 * (1 - decay.rate) ** (max(0, now - fact.refreshed) / decay.per)", finding.decay,
        ),
        "`Confirm` refreshed by access": Mutant(
            remembering, 'refreshes = decay is None or decay.refresh_on == "Access"', "refreshes = True", finding.confirming
        ),
    },
    "M-12.17": {
        "unstable ties": Mutant(recall, "lambda pair: pair[0], reverse", "lambda pair: pair[0][0], reverse", finding.order),
        "k before filter": Mutant(
            recall, "if accepts(hit):", "if True:", finding.filters,
            (("hits[: max(0, k)]]", "hits[: max(0, k)] if accepts(hit)]"),),
        ),
        "recency left out": Mutant(recall, "self.relevance * self.recency * self", "self.relevance * self", finding.order),
    },
    "M-12.18": {
        "recalled block stored": Mutant(
            turns, "for message in self.prompt\n", "for message in [*self.head, *self.prompt]\n", finding.feedback
        ),
        "turn observed twice": Mutant(
            memory, "batch.seen, batch.unseen = learned.seen, learned.unseen",
            "batch.seen = [one for seen in learned.seen for one in "
            "(seen, observation_of({**seen.as_json(), 'n': seen.n + 1}))]", finding.observing,
        ),
    },
    "M-12.19": {
        "field beats run": Mutant(
            models, "if attached is UNSET:", "if attached is UNSET or self.models[call.model][1].memory is not None:",
            finding.resolution,
        ),
        "`auto: false` sticky": Mutant(
            handles, "copy.auto = self.auto if auto is KEEP else auto",
            "copy.auto = self.auto if auto is KEEP else auto and self.auto", finding.resolution,
        ),
    },
    "M-12.20": {
        "ASCII only": Mutant(entries, 'else len(text.encode("utf-8", "surrogatepass"))', "else len(text)", finding.counting),
        "`len/4` rounded down": Mutant(entries, "- (-count // BYTES_PER_TOKEN)", "+ count // BYTES_PER_TOKEN", finding.counting),
    },
    "M-12.21": {
        "views one behind the other": Mutant(views, "elif log in by_log:", "elif False:", finding.lists),
    },
    "M-12.24": {
        "views told apart by their handle": Mutant(
            views, "elif log in by_log:", "elif any(log is one for one in by_log):", finding.combined
        ),
        "inner view passed over": Mutant(
            views, "if policy.inner is None:", "if True:", finding.combined
        ),
        "pins of the inner view lost": Mutant(
            views, "shown = merge(passed, units_back(reversed(own)), key=lambda unit: unit[0].seq, reverse=True)",
            "shown = passed", finding.combined,
        ),
        "pins of the inner view pin in the outer": Mutant(
            views, "return self.source.pins()", "return pinned_in(self.policy, self.source).pins()", finding.combined,
        ),
        "budget of the inner view left out": Mutant(
            views, "if policy.tokens is not None and self.budgets:", "if False:", finding.combined,
        ),
        "a budget of the inner view fails a commit": Mutant(
            views, "if policy.tokens is not None and self.budgets:", "if policy.tokens is not None:", finding.combined,
        ),
        "uncovered unit lost behind the inner window": Mutant(
            views, "covered = least(covered, state.upto if policy.summary is not None else None)", "covered = None",
            finding.combined,
        ),
        "outer cut made from the old inner one": Mutant(
            changes, "{**self.states, **moved}", "self.states", finding.combined
        ),
        "what an inner view hides is folded": Mutant(
            summaries, "for each in policy.chain:", "for each in [policy]:", finding.combined
        ),
        "what an inner view pins is not folded": Mutant(
            summaries, "(each is policy or not pins_unit(each, unit))", "True", finding.combined
        ),
        "only the outer window makes a fold due": Mutant(
            summaries, "[*_levels(bare.inner, states), (bare, state)]", "[(bare, state)]", finding.combined
        ),
        "view of only its summary shows pins": Mutant(
            views, "[] if policy.only_summary else source.pins()", "source.pins()", finding.combined
        ),
        "view of only its summary shows units": Mutant(
            views, "([], 0) if policy.only_summary else _window(", "_window(", finding.combined
        ),
        "default text for a text of the user": Mutant(
            policy, 'self.text.partition("{}")', 'SUMMARY_TEXT.partition("{}")', finding.combined
        ),
    },
    "M-12.25": {
        "tool text before every round": Mutant(call, "not self.rounds and", "", finding.combined),
        "tool text before the newest round": Mutant(
            call, "self.tail += [*shown, *arrived]",
            "self.tail = [*self.tail[: -2 * (self.round_count > 1) or None], *shown, *arrived]",
            finding.combined,
        ),
        "tool text stored": Mutant(
            call, "self.conversation.add_round(reply.text, reply.calls, results,",
            "self.conversation.add_round(reply.text, reply.calls, self.conversation.first_round([None, *results])[1:],",
            finding.combined,
        ),
        "tool text in the prompt too": Mutant(
            views, 'view.joined("Prompt") for', 'view.joined("Prompt") + view.joined("Tool") for', finding.combined
        ),
    },
    "M-12.26": {
        "buffer of the uncovered units alone": Mutant(summaries, "if not policy.summary.whole:", "if True:", finding.combined),
        "buffer without the uncovered units": Mutant(
            summaries, "by_seq.setdefault(unit[0].seq, _of_roles(policy, unit))", "pass", finding.combined
        ),
        "buffer covers nothing": Mutant(summaries, "uncovered[-1][-1].seq)", "state.upto)", finding.combined),
    },
    "M-12.31": {
        "bounds of the first value for all": Mutant(
            bounds, "policy = self._policies.get(at)", "policy = next(iter(self._policies.values()), None)", finding.memory_values
        ),
        "bounds of the beginning forgotten": Mutant(
            bounds, "bounds: dict[str, Any] = {name: value or None for", "bounds: dict[str, Any] = {name: None for",
            finding.memory_values,
        ),
        "log kept when the last handle goes": Mutant(
            bounds, "store.give_up([key, *((*key[:-1], branch) for branch in branches)])", "pass", finding.memory_values
        ),
        "branches kept when the last handle goes": Mutant(
            bounds, "store.give_up([key, *((*key[:-1], branch) for branch in branches)])", "store.give_up([key])",
            finding.memory_values,
        ),
        "messages of `from` as a run": Mutant(
            memories, "memory.append_all([message_of(message) for message in paced(messages, FEW)])",
            "from .changes import Draft; from .entries import Turn; "
            "memory.write([Draft(message_of(message)) for message in messages], Turn(0, run='M-0'))", finding.memory_values,
        ),
        "messages of `from` as turns": Mutant(
            memories, "memory.append_all([message_of(message) for message in paced(messages, FEW)])",
            "[memory.append_all([message_of(message)]) for message in messages]", finding.memory_values,
        ),
        "one number for two values": Mutant(bounds, "self.last += 1", "self.last = 1", finding.memory_values),
        "logs of no value go on after a snapshot": Mutant(
            bounds, "if life is None:\n                    without_life.append(key)", "if False:\n                    pass",
            finding.memory_values,
        ),
    },
    "M-12.22": {
        "summary kept": Mutant(log, "[state.without_summary() for", "[state for", finding.erasing),
        "terms kept": Mutant(log, "gone=derived, unseen", "unseen", finding.derived_facts),
        "WAL kept": Mutant(
            sqlite, '_tried("PRAGMA wal_checkpoint(TRUNCATE)")', '_tried("PRAGMA wal_checkpoint(PASSIVE)")', finding.erased_files
        ),
    },
    "M-12.27": {
        "compare left out": Mutant(sql, "if said_by(None if expired else stored) != said:", "if False:", finding.slots),
        "compare outside the transaction": Mutant(
            sql, "        try:\n            with self._transaction():\n                self._change(TOUCH, (at, at_key))  # oth",
            "        stored = self._stored(key, name)\n"
            "        try:\n            with self._transaction():\n                self._change(TOUCH, (at, at_key))  # oth",
            finding.slots,
            (("                stored = self._stored(key, name)\n", ""),),
        ),
        "what was read before counts, whatever changed since": Mutant(
            sql, "[(index.stamp,)] == [tuple(row) for row in newest]", "newest", finding.slots
        ),
        "an access writes the content back": Mutant(
            facts, "updated = stored.changed(accessed", "updated = fact.changed(accessed", finding.slots,
            (("if stored is None or _saying(stored) != _saying(fact):", "if stored is None:"),),
        ),
    },
    "M-12.28": {
        "facts survive a rewind": Mutant(memory, "gone=facts, unseen=unseen)", "unseen=unseen)", finding.provenance),
        "a fork at a snapshot copies all facts": Mutant(
            log, "if all(seq < next_seq for seq in fact.seqs)]\n    return", "]\n    return", finding.provenance
        ),
        "erasing looks at seqs alone": Mutant(
            log, "lambda entry: _identity(entry) in marks", "lambda entry: entry.seq in {mark[0] for mark in marks}",
            finding.provenance,
        ),
        "ephemeral facts stay": Mutant(
            log, "store.facts(key) if any(map(names, fact.seqs))]",
            "store.facts(key) if fact.tier != EPHEMERAL and any(map(names, fact.seqs))]", finding.provenance,
        ),
    },
    "M-12.29": {
        "defaults left out": Mutant(json, "return functions.get(", "return None and functions.get(", finding.evolution),
        "older name not looked for": Mutant(
            remembering, "older = None if before is None else", "older = None if True else", finding.evolution
        ),
        "older key not found": Mutant(keys, "    return values[:count]\n", "    return values\n", finding.evolution),
        "both names read silently": Mutant(
            remembering, "if current is not None and older is not None:", "if False:", finding.evolution
        ),
    },
    "M-12.30": {
        "views show entries as stored": Mutant(
            reader, "if self.policy.redact:\n            source, states", "if False:\n            source, states",
            finding.later_redaction,
        ),
        "facts as stored": Mutant(
            remembering, "if not memory.policy.redact:\n        return", "if True:\n        return", finding.later_redaction
        ),
        "the note left out": Mutant(
            redaction, "return [] if mark is not None and mark.text == redaction else", "return [] if True else",
            finding.later_redaction,
        ),
    },
    "M-12.34": {
        "asked twice": Mutant(
            conversation, "await ask(element, view)", "await ask(element, view); await ask(element, view)", finding.own_views
        ),
        "asked of the whole log": Mutant(
            memory_callbacks, "message_array([*view.before, *view.window])", "message_array(memory.messages())", finding.own_views
        ),
        "failed function is skipped": Mutant(
            memory_callbacks, "raise _failure(memory.name, value.value)", "return", finding.own_views
        ),
        "orphans are sent": Mutant(
            views, 'nothing has changed."""\n        check_units(messages)', 'nothing has changed."""', finding.own_views
        ),
        "shown messages are stored": Mutant(
            turns, "else [*prompt, last]", "else [*(Draft(one) for one in self.head), *prompt, last]", finding.own_views
        ),
        "a function hears of nothing": Mutant(
            conversation, "if self.heard is not None:\n            await", "if False:\n            await", finding.heard_events
        ),
    },
    "M-12.35": {
        "shown again each round": Mutant(turns, "one.after = newest", "pass", finding.refreshed_views),
        "put before the in-flight units": Mutant(
            call, "[*shown, *arrived]", "[*arrived, *shown]", finding.refreshed_views
        ),
        "attempt begins where the last one was": Mutant(turns, "one.after = one.since", "pass", finding.refreshed_views),
        "replies of others pass for one's own": Mutant(
            turns, 'if first.role == "user":', "if True:", finding.refreshed_views
        ),
    },
    "M-12.32": {
        "the filter after k": Mutant(
            remembering, "                and self.may_read(hit.fact)\n", "", finding.permissions,
            (
                (
                    "        if touch and (hits or",
                    "        hits = [hit for hit in hits if self.may_read(hit.fact)]\n        if touch and (hits or",
                ),
            ),
        ),
        "patterns compared as prefixes only": Mutant(
            policy, 'name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern',
            "name.startswith(pattern.rstrip('*'))", finding.permissions,
        ),
        "a rule that covers is enough": Mutant(
            policy, "all(by in readers for", "any(by in readers for", finding.permissions
        ),
        "a tier is no condition": Mutant(policy, 'pattern[0] in ("", tier) and ', "", finding.permissions),
        "who writes may not read": Mutant(
            policy, "frozenset(readers) | frozenset(writers)", "frozenset(readers)", finding.permissions
        ),
        "what is hidden is forgotten": Mutant(
            remembering, "if self.may_read(fact)]\n        if any(not", "]\n        if any(not", finding.permissions
        ),
        "the model is not asked about": Mutant(
            remembering, "facts = Facts(element.memory, task, by)", "facts = Facts(element.memory, task)", finding.permissions
        ),
    },
    "M-12.33": {
        "one item per list": Mutant(
            facts, "    if not isinstance(fact.content, list):\n        return [fact]\n    # The",
            "    return [fact]\n    # The", finding.items,
        ),
        "times by place": Mutant(
            facts, "known.get(content_text([element])) if", "next(filter(None, known.values()), None) if", finding.items
        ),
        "a new element is as old as its list": Mutant(
            facts, "[now, now, now]", "[before.created if before else now, now, now]", finding.items
        ),
        "an element touched with its list": Mutant(
            facts, "if content_text([element]) in texts:", "if True:", finding.items
        ),
        "system messages found": Mutant(recall, "if entry.message.role in ROLES and", "if", finding.items),
        "words of an older log": Mutant(
            recall, "if known is None or known[0] != counts:", "if known is None:", finding.items
        ),
    },
}


def is_found(mutant):
    """Whether its check fails with it. A check that cannot run at all would pass for one: those of the code as it is pass too."""
    import pytest

    with tempfile.TemporaryDirectory(prefix="concerto-mutant-") as folder, mutant.planted():
        try:
            mutant.check(finding.folders(Path(folder)))
        except (Exception, pytest.fail.Exception):
            return True
    return False


def main():
    started, survivors, count = time.monotonic(), 0, 0
    print(f"{'law':8} {'mutant':42} {'planted in':28} {'found by':16} ")
    for law, of_law in MUTANTS.items():
        for name, mutant in of_law.items():
            found = is_found(mutant)
            survivors += not found
            count += 1
            module = mutant.module.__name__.removeprefix("concerto.")
            print(f"{law:8} {name:42} {module:28} {mutant.check.__name__:16} {'killed' if found else 'SURVIVES'}", flush=True)
    print(f"{count - survivors} of {count} killed in {time.monotonic() - started:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
