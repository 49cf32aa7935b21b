"""Methods of handles: models, memories, agents, tools, hashmaps, ledgers (L-6.8, O-1.4, O-3.4 to O-3.8, O-3.19 to O-3.23,
O-5).

Signatures only: the machine does the work (`interp/methods_models.py`, `interp/methods_stores.py`).
"""

from __future__ import annotations

from .registry import declared_effect, handle, prelude

# ----------------------------------------------------------------
# Methods of handles (L-6.8, O-1.4, O-3.4 to O-3.8, O-3.19 to O-3.23): signatures only, the machine does the work.

for _kind in ("ModelRef", "ModelBuilder"):
    handle(
        _kind, "execute(prompt: Prompt) -> Result<Response, AgentError>", clause="L-6.8.1",
        doc="Sends the prompt and gives the reply.",
    )  # fmt: skip
    handle(
        _kind, "execute_with_schema<T>(prompt: Prompt, retry_message: String? = nil) -> Result<T, AgentError>",
        clause="L-6.8.1", doc="Sends the prompt and gives the reply as a value of the schema.",
    )  # fmt: skip
    handle(
        _kind, "with_memory(m: Any, auto: Bool = true, tokens: Int? = nil, meta: Map<String, Any>? = nil) -> ModelBuilder",
        clause="L-6.8.2",
        doc="A builder whose conversation is the memory, or a list of them; with `auto: false` the call never writes.",
    )  # fmt: skip
    handle(_kind, "with_tools(ts: Array<Any>) -> ModelBuilder", clause="L-6.8.2", doc="A builder with further tools.")
    handle(
        _kind, "without_tools() -> ModelBuilder", clause="L-6.8.2",
        doc="A builder without the model's static tools; added ones stay.",
    )  # fmt: skip
    handle(_kind, "with_context(v: Any) -> ModelBuilder", clause="L-6.8.2", doc="A builder that sends the context.")
    handle(
        _kind, "view(prompt: String) -> Array<Message>", clause="M-6.12",
        doc="The messages of the first request with this prompt; nothing is sent, and the memory is only read.",
    )  # fmt: skip
    handle(
        _kind, "stream(prompt: Prompt) -> Result<Stream, AgentError>", clause="L-6.8.3",
        doc="Sends the prompt and gives the reply as it arrives.",
    )  # fmt: skip
    handle(
        _kind, "chat(ms: Array<Message>) -> Result<Response, AgentError>", clause="L-6.8.4",
        doc="Sends the messages as they are.",
    )  # fmt: skip

handle(
    "ModelRef", "spawn() -> ModelRef", clause="L-6.8.4",
    doc="A new instance: its fields are evaluated now, and its cache and the state of its tools are its own.",
)  # fmt: skip
handle(
    "ModelRef", "shutdown() -> Nil", clause="L-6.8.4",
    doc="Ends a spawned instance: running calls are cancelled, later ones give `Err(AgentError::Shutdown)`.",
)  # fmt: skip

# An agent, and what the compiler knows to be a builder of one; the machine knows ModelBuilder alone.
for _kind in ("AgentRef", "AgentBuilder"):
    handle(
        _kind, "execute(prompt: Prompt) -> Result<Response, AgentError>", clause="L-6.8.1",
        doc="Sends the prompt to the process and gives its answer.",
    )  # fmt: skip
    handle(
        _kind, "execute_with_schema<T>(prompt: Prompt, retry_message: String? = nil) -> Result<T, AgentError>",
        clause="L-6.8.1", doc="Sends the prompt and gives the answer as a value of the schema.",
    )  # fmt: skip
    handle(
        _kind, "with_memory(m: Any, auto: Bool = true, tokens: Int? = nil, meta: Map<String, Any>? = nil) -> AgentBuilder",
        clause="L-6.8.2",
        doc="A builder that records the turn in the memory; the agent never sees it.",
    )  # fmt: skip
    handle(_kind, "with_context(v: Any) -> AgentBuilder", clause="L-6.8.2", doc="A builder that sends the value along.")

handle(
    "McpRef", "call(name: String, arguments: Map<String, Any> = {}) -> Result<Any, ToolError>", clause="O-4.45",
    doc="Calls a tool that the server offers.",
)  # fmt: skip
handle("Memory", "append(role: String, content: String) -> Nil", clause="O-3.4", doc="Adds one message at once.")
handle("Memory", "messages() -> Array<Message>", clause="O-3.5", doc="The messages, oldest first.")
handle("Memory", "last(n: Int) -> Array<Message>", clause="O-3.6", doc="The newest n messages, oldest first.")
handle("Memory", "len() -> Int", clause="O-3.7", doc="Number of messages.")
handle("Memory", "is_empty() -> Bool", clause="M-6.7", doc="Whether there is no message.")
handle("Memory", "clear() -> Nil", clause="O-3.8", doc="Removes all messages.")

for _text, _clause, _doc in (
    ("append_all(msgs: Array<Message>) -> Result<Int, MemoryError>", "M-6.2", "Adds messages as one turn; the new length."),
    ("pin(role: String, content: String) -> Nil", "M-6.3", "Adds one message that stays."),
    ("set_pinned(seq: Int, on: Bool) -> Bool", "M-6.4", "Pins a message, or no longer; false when it is not there."),
    ("entries(after: Int = -1, limit: Int? = nil) -> Array<Entry>", "M-6.9", "The entries behind a seq, oldest first."),
    ("turns(last: Int? = nil) -> Array<Turn>", "M-6.10", "The newest turns, oldest first."),
    ("appended(run: String? = nil) -> Array<Message>", "M-6.11", "The messages of a run, by default the newest committed one."),
    ("view(prompt: String) -> Array<Message>", "M-6.12", "The messages a request with this prompt would have."),
    ("summary() -> String?", "M-6.13", "The stored summary."),
    ("tokens() -> Int", "M-6.14", "Tokens of all messages."),
    ("version() -> Int", "M-6.14", "Number of changes so far."),
    ("stats() -> Map<String, Any>", "M-6.15", "Counts, and all limits."),
    ("to_map() -> Map<String, Any>", "M-6.32", "Limits, count and messages as plain data, of which JSON is made."),
    ("fork(name: String) -> Result<Memory, MemoryError>", "M-6.16", "An independent copy as a branch."),
    ("branch(name: String) -> Result<Memory, MemoryError>", "M-6.17", "The branch of that name."),
    ("branches() -> Array<String>", "M-6.17", "The names of the branches."),
    ("rewind(turn: Int) -> Result<Int, MemoryError>", "M-6.18", "Removes the turns above this one; how many."),
    ("dump() -> String", "M-6.19", "Everything as text."),
    ("load(text: String) -> Result<Nil, MemoryError>", "M-6.19", "Replaces everything by what a dump holds."),
    (
        "erase(seqs: Array<Int>? = nil, run: String? = nil) -> Result<Int, MemoryError>", "M-6.20",
        "Removes messages without trace, by default all; how many.",
    ),
    (
        "remember(name: String, content: Any, confidence: Float = 1.0, tier: String? = nil, about: Array<String>? = nil,"
        " from: Array<Int>? = nil) -> Nil", "M-10.5", "Keeps a fact under a name of its tier, in place of an earlier one.",
    ),
    (
        "recall(query: String, k: Int = 10, from: Array<String>? = nil, min_confidence: Float = 0.0, archived: Bool = false,"
        " touch: Bool = true) -> Array<Fact>", "M-10.6", "The facts that fit the query best.",
    ),
    ("fact(name: String) -> Option<Fact>", "M-10.7", "The fact of that name."),
    ("confirm(name: String) -> Bool", "M-10.7", "Holds for as sure as when it was remembered; false when it is not there."),
    ("forget(name: String) -> Result<Bool, MemoryError>", "M-10.7", "Removes the facts of that name; whether there were any."),
    ("relate(a: String, relation: String, b: String) -> Nil", "M-10.7", "Remembers that two things are related."),
    ("observe(topic: String, data: Map<String, Any>) -> Nil", "M-10.7", "Tells the rules of `learn` what happened."),
    (
        "neighbors(entity: String, relation: String? = nil, direction: String? = nil) -> Array<(String, Int)>", "M-10.7",
        "What shares facts with it, or is related to it, and how many.",
    ),
):  # fmt: skip
    handle("Memory", _text, clause=_clause, doc=_doc)

# The parameters of `key` and `erase` are the key parts of the declaration.
handle("KeyedMemory", "key(parts: Any) -> Memory", clause="M-7.3", doc="The memory of these values of the key parts.")
handle("KeyedMemory", "keys() -> Array<Map<String, Any>>", clause="M-7.3", doc="The keys that were written.")
handle(
    "KeyedMemory", "erase(parts: Any) -> Result<Int, MemoryError>", clause="M-7.3",
    doc="Erases every key with these values; how many entries there were.",
)  # fmt: skip

handle(
    "Stream", "response() -> Response", clause="L-6.8.3",
    doc="The whole reply, once it has ended (P410 before): after `break` the text so far, with `finish` \"cancelled\".",
)  # fmt: skip
handle(
    "PipelineRef<I, O>", "run(x: I) -> Result<O, Error>", clause="L-6.8.6", doc="Runs the stages one after another.",
)  # fmt: skip

handle("Task", "cancel() -> Bool", clause="O-6.5", doc="Stops the task; whether it was running.")
handle("Task", "done() -> Bool", clause="O-6.5", doc="Whether the task has ended or was cancelled.")


# ----------------------------------------------------------------
# What `listen` asks of its host: an effect with the handlers, which the host calls back (O-7.32 to O-7.36).

declared_effect(
    "Agent", "listen(agent: Any, schema: Any, prompt: Any, retry_message: Any, handlers: Any) -> Any", effect="agent",
    clause="O-7.11", doc="An `execute` whose messages on the way go to handlers.",
)  # fmt: skip


# ----------------------------------------------------------------
# Methods of hashmaps and ledgers (L-6.8.7, L-6.8.8, O-5.2 to O-5.22): what the machine does, what is written in Concerto.
#
# `MACHINERY` is the type of no value: its two functions are the part of a write, and of the declaration of a store with a
# file, that calls functions and waits for the host.

_MAP = "HashMap<K, V>"
MACHINERY = "StoreWrites"

for _store_text, _store_clause, _store_doc in (
    ("set(k: K, v: V) -> Nil", "O-5.2", "Writes an entry; a replaced key keeps its place."),
    ("get(k: K) -> Option<V>", "O-5.2", "The value of a key."),
    ("has(k: K) -> Bool", "O-5.2", "Whether the key is there."),
    ("delete(k: K) -> Bool", "O-5.3", "Removes an entry; whether it was there."),
    ("keys() -> Array<K>", "O-5.4", "The keys in insertion order."),
    ("values() -> Array<V>", "O-5.4", "The values in insertion order."),
    ("len() -> Int", "O-5.4", "Number of entries."),
    ("is_empty() -> Bool", "O-5.4", "Whether there is no entry."),
    ("clear() -> Nil", "O-5.4", "Removes every entry."),
    ("set_many(entries: Map<K, V>) -> Nil", "O-5.7", "Writes all entries in one step."),
    ("get_many(keys: Array<K>) -> Map<K, Option<V>>", "O-5.7", "The values of several keys in one step."),
    ("scope(prefix: String) -> HashMap<K, V>", "O-5.8", "A view of the keys that begin with `prefix:`: both see them."),
    ("as_ref() -> HashMap<K, V>", "L-6.8.7", "The hashmap itself."),
    ("require(k: K) -> Result<V, HashMapError>", "O-5.13", "The value of a key, or KeyNotFound."),
    ("on_change(k: K, f: fn(Option<V>, Option<V>)) -> Nil", "O-5.9", "Calls f after each change of a key."),
    ("on_any_change(f: fn(K, Option<V>, Option<V>)) -> Nil", "O-5.9", "Calls f after each change."),
):
    handle(_MAP, _store_text, clause=_store_clause, doc=_store_doc)

prelude(
    _MAP, "query(pred: fn(K, V) -> Bool) -> Map<K, V>", clause="O-5.5", doc="The entries that satisfy the predicate.",
    source="let mut found: Map<Any, Any> = {}; for (k, v) in self { if pred(k, v) { found.set(k, v); } } found",
)  # fmt: skip
prelude(
    _MAP, "find(pred: fn(K, V) -> Bool) -> Option<(K, V)>", clause="O-5.6", doc="The first entry that satisfies the predicate.",
    source="for (k, v) in self { if pred(k, v) { return Some((k, v)); } } None",
)  # fmt: skip

for _receiver in ("Ledger", "LedgerQuery"):
    for _store_text, _store_clause, _store_doc in (
        ("from_identifier(text: String) -> Array<LedgerEntry>", "O-5.18", "Entries whose identifier has every word of the text."),
        ("from_key(k: String) -> Array<LedgerEntry>", "O-5.19", "Entries with that key, without regard to case."),
        ("from_any_keys(ks: Array<String>) -> Array<LedgerEntry>", "O-5.19", "Entries with at least one of the keys."),
        ("from_exact_keys(ks: Array<String>) -> Array<LedgerEntry>", "O-5.19", "Entries with all of the keys."),
    ):
        handle(_receiver, _store_text, clause=_store_clause, doc=_store_doc)

for _store_text, _store_clause, _store_doc in (
    ("insert(id: String, keys: Array<String>, value: String) -> Nil", "O-5.15", "Adds an entry or replaces the one of that id."),
    ("update(id: String, value: String) -> Bool", "O-5.16", "Replaces the value; false when there is no such entry."),
    ("update_keys(id: String, keys: Array<String>) -> Bool", "O-5.16", "Replaces the keys; false when there is no such entry."),
    ("delete(id: String) -> Bool", "O-5.17", "Removes an entry; whether it was there."),
    ("query() -> LedgerQuery", "O-5.18", "Where searches stand; they can be called on the ledger too."),
    ("entries() -> Array<LedgerEntry>", "O-5.20", "All entries in insertion order."),
    ("identifiers() -> Array<String>", "O-5.20", "The identifiers in insertion order."),
    ("len() -> Int", "O-5.20", "Number of entries."),
    ("is_empty() -> Bool", "O-5.20", "Whether there is no entry."),
    ("clear() -> Nil", "O-5.20", "Removes every entry."),
    ("partition(name: String) -> Ledger", "O-5.34", "A ledger of its own under that name: neither sees the other's entries."),
    ("scope(prefix: String) -> Ledger", "O-5.20", "`partition` by its older name. No view, as `scope` of a hashmap is."),
):
    handle("Ledger", _store_text, clause=_store_clause, doc=_store_doc)

prelude(
    MACHINERY, "finish(calls: Any, result: Any) -> Any", clause="O-5.11", doc="Writes the file, then tells the watchers.",
    source="""
        self.answered(self.save());
        for (every, watcher, key, old, new) in calls {
            let ignored = if every { watcher(key, old, new) } else { watcher(old, new) };
        }
        result
    """,
)
prelude(
    MACHINERY, "load() -> Nil", clause="O-5.12", doc="Fills the store from its file.",
    source="self.answered(self.read()); nil",
)  # fmt: skip
