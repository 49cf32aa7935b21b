"""Methods of handles (L-6.8, O-1.4, O-3.4 to O-3.8, O-3.19 to O-3.23): signatures only, the machine does the work."""

from __future__ import annotations

from .registry import handle

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
