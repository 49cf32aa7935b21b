"""The memory one writes in an afternoon: a list, a slice and a string key. It fails its users in ten known ways.

Beside it `Careful`, the same face over the memories of the runtime, so that one check can be asked of both.
"""

from __future__ import annotations

import json

from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.keys import memory_key
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, SummaryPolicy
from concerto.runtime.memory.stores.volatile import VolatileStore
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg


class Naive:
    """`bound`: how many messages it keeps. `summarise`: what makes a text of those it drops."""

    def __init__(self, bound=None, summarise=None, store=None, user=("", ""), rules=None):
        self.bound = bound
        self.summarise = summarise
        self.log = (store if store is not None else {}).setdefault(":".join(user).lower(), [])
        if rules is not None:
            self.log.append(Msg("system", rules))

    def call(self, prompt, model):
        """A generator, to stop at each point where a model or a tool is waited for."""
        self.log.append(Msg("user", prompt))
        for reply, results in model:
            yield
            self.log.append(reply)
            self.log += results
        self.trim()

    def trim(self):
        if self.bound is not None and len(self.log) > self.bound:
            dropped, self.log[:] = self.log[: -self.bound], self.log[-self.bound :]
            if self.summarise is not None:
                try:
                    text = self.summarise(dropped)
                except ValueError as error:
                    text = str(error)
                self.log.insert(0, Msg("system", text))

    def request(self):
        return list(self.log)

    messages = request

    def loaded(self):
        """How many messages it reads to make a request."""
        return len(self.log)

    def tokens(self):
        return sum(len(message.content) // 4 for message in self.log)

    def dump(self):
        return json.dumps({"v": 1, "messages": [[message.role, message.content] for message in self.log]})

    def load(self, text):
        self.log[:] = [Msg(role, content) for role, content in json.loads(text).get("messages", [])]


class Careful:
    """A memory of the runtime, driven by hand as calls drive it."""

    runs = 0

    def __init__(self, bound=None, summarise=None, store=None, user=("", ""), rules=None):
        self.summarise = summarise
        policy = Policy(
            retain=bound, window=bound, tools=True, pin_roles=frozenset(["system"]), on_conflict="Append",
            summary=None if summarise is None else SummaryPolicy(),
        )  # fmt: skip
        self.store = store if store is not None else VolatileStore()
        self.memory = Memory(policy, store=self.store, key=(*memory_key("", "chat")[:-1], *user, ""))
        if rules is not None:
            self.memory.append("system", rules)

    def call(self, prompt, model):
        Careful.runs += 1
        run = open_run([Attached(self.memory)], f"r{Careful.runs}", [Msg("user", prompt)], tools_offered=True)
        for reply, results in model:
            yield
            if reply.calls:
                run.add_round(reply.content, reply.calls, results)
            else:
                run.commit(reply.content)
                self.fold()

    def fold(self):
        fold = due_fold(self.memory) if self.summarise is not None else None
        if fold is not None:
            try:
                store_fold(self.memory, fold, self.summarise([entry.message for entry in fold.entries]))
            except ValueError:
                """It is due again."""

    def request(self):
        return open_run([Attached(self.memory)], "", [Msg("user", "")], auto=False, tools_offered=True).head

    def messages(self):
        return self.memory.messages()

    def loaded(self):
        read, plain = [], self.store._rows
        self.store._rows = lambda statement, values=(): read.append(len(found := plain(statement, values))) or found
        self.request()
        return sum(read)

    def tokens(self):
        return self.memory.tokens()

    def dump(self):
        return self.memory.dump()

    def load(self, text):
        try:
            self.memory.load(text)
        except MemoryFailure as failure:
            raise ValueError(failure.message) from None


def said(text):
    """A reply of the model, and no results of tools."""
    return Msg("assistant", text), []


def looked_up(text, id="c1", arguments=None):
    """A reply that calls a tool, and its result."""
    call = Call(id, "find", {} if arguments is None else arguments)
    return Msg("assistant", "", [call]), [Msg("tool", text, (), id)]
