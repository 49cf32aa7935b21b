"""The steps of a memory declaration: one row per argument of a step (M-2.3 to M-2.24, M-4.2 to M-4.15, M-9, M-10.15 to
M-10.22).

A row says what an argument takes, its names in a source, in an image and in the policy of a memory, and its default. The checker
adds types and help to the rows, `[memory.defaults]` of a manifest is read by them, the shape of an image (`bytecode/shape.py`)
refuses what they refuse (`problem`, V008), the verifier refuses written bounds that do not fit (`written_problem`, V119), and the
runtime makes policies from them. A new step is a row of `STEPS`, its name in `FIELDS`, where it stands in a memory block, and the
code that acts on its field.

Hands on the rows (`STEPS`, `BLOCK`, `SUMMARY`, `RULE`), their classes `Step` and `Argument`, the kinds of arguments, the words of
steps (EVENTS, FACT_TIERS, SOURCES …) and what follows from the rows (`rows`, BOUNDS, LOWS, WORD_STEPS …) to the compiler,
`runtime/memory/` and the language server; HALF_LIFE, OBSERVED_TOPICS and OBSERVED_PREFIX to `runtime/memory/`, the last two to
the checker too; TOOL_METHODS to tools of memories, the checker and the session; `is_text` and `is_key_value` to the checker,
INDEX_STORE_KINDS to checker and verifier; `field_rank` to the compiler and its formatter; `problem` to `bytecode/shape.py`;
`written_problem`, `is_store` and `is_embedder` to the verifier; `bound_problem` to `runtime/memory/bounds.py`; MADE to that file
and to linking, VALUE and COMPUTED to code generation and built-ins; `is_function` to `concerto inspect`. Durations are
milliseconds. A step is a call in the chain of a declaration, such as `.retain(20)`; the image is the compiled program, the policy
what the runtime works by. Nothing is raised or reported here: tests return whether a value is right, `problem` and its like the
text of what is wrong, and callers report it. What a step does when a run comes to it is in `runtime/memory/`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Takes = Callable[[Any], bool]

# ----------------------------------------------------------------
# Words of steps (M-2.6), which are bare in a source and texts in an image.

ROLES = ("User", "Assistant", "System", "Tool")
ON_FAILURE = ("Discard", "Record")
ON_CONFLICT = ("Append", "Serial", "Reject", "Fork")
REDACTORS = ("Pii",)
INJECT = ("System", "Prefix", "Suffix", "Prompt", "Tool")
FROM = ("Uncovered", "Buffer")
ONLY = ("Summary",)
SUMMARY_ROLES = ("System", "User")
FACT_TIERS = ("Ephemeral", "Session", "Persistent")
SOURCES = (*FACT_TIERS, "Messages")
"""What recall can search (M-10.40)."""
DIRECTIONS = ("Out", "In", "Both")
REFRESH_ON = ("Access", "Confirm")
REREAD = ("Step",)
EVENTS = {
    "Step": "memory:step", "Commit": "memory:commit", "Rollback": "memory:rollback", "Evict": "memory:evict",
    "Overflow": "memory:overflow", "Conflict": "memory:conflict", "Summary": "memory:summary",
    "SummaryFailed": "memory:summary_failed", "Recall": "memory:recall", "Learn": "memory:learn",
    "LearnFailed": "memory:learn_failed",
}
"""The events of a memory: from the word of the step `on` to the channel on which hosts hear of it (M-6.25 to M-6.30)."""
EMBEDDER_KINDS = ("offline", "host", "connection")
STORE_KINDS = ("sqlite", "redis", "postgres", "host")
SERVERS = ("redis", "postgres")
INDEX_STORE_KINDS = ("sqlite", "postgres")
"""The stores that keep indexes of documents (O-1.241)."""
OBSERVED_TOPICS = ("turn", "turn:tool", "turn:fix")
OBSERVED_PREFIX = "turn:"
"""Topics of what the runtime observes of a run (M-10.43); a program may use no topic that begins so."""
TOOL_METHODS = ("remember", "recall", "forget")
"""The methods that a memory in a list of tools offers to a model (M-10.17)."""
HOLE = "{}"
"""The place of the summary in the text around it (M-9.22)."""
SUMMARISERS = ("model", "function", "host")
MADE = "value"
"""The first part of the key of a memory value, before its bounds: its number in the session (M-2.19)."""
VALUE, COMPUTED = "__value", "__bounds"
"""Methods that only generated code calls: one makes a memory value, one checks the bounds of a declared memory."""

# ----------------------------------------------------------------
# Tests of the values in an image.


def is_count(value: Any) -> bool:
    """Return whether a value is an Int of at least 1 that 64 bits hold."""
    return type(value) is int and 1 <= value < 1 << 63


def is_share(value: Any) -> bool:
    """Return whether a value is an Int or Float from 0 to 1."""
    return type(value) in (int, float) and 0 <= value <= 1


def is_true(value: Any) -> bool:
    """Return whether a value is `true` itself, as an image has it for a flag that is set."""
    return value is True


def is_function(value: Any) -> bool:
    """Return whether a value is [index of the memory, number], both from 0 and below 2**31: the place where initialisation puts
    the function."""
    return type(value) is list and len(value) == 2 and all(type(part) is int and 0 <= part < 1 << 31 for part in value)


def is_text(value: Any) -> bool:
    """Return whether a value is a text that is not empty."""
    return type(value) is str and value != ""


def is_key_value(value: Any) -> bool:
    """Return whether a value may be a key part: an Int, or a String of 1 to 1024 bytes in UTF-8 (M-7.4)."""
    if type(value) is str:
        return 0 < len(value.encode("utf-8", "surrogatepass")) <= 1024
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def are_names(value: Any) -> bool:
    """Return whether a value is a list of different texts, none of them empty; it may have no entry."""
    return type(value) is list and all(map(is_text, value)) and len(set(value)) == len(value)


def _list_of(takes: Takes) -> Takes:
    return lambda value: type(value) is list and bool(value) and all(map(takes, value))


def _one_of(words: tuple[str, ...]) -> Takes:
    return lambda value: type(value) is str and value in words


def _some_of(words: tuple[str, ...]) -> Takes:
    return lambda value: type(value) is list and all(map(_one_of(words), value))


def _table(parts: Mapping[str, Argument], *required: str) -> Takes:
    return lambda value: (
        type(value) is dict
        and all(name in parts and parts[name].takes(part) for name, part in value.items())
        and all(name in value for name in required)
    )


def _is_pattern(value: Any) -> bool:
    """Return whether a value is [tier or "", name of facts], where only the last character of the name may be a `*`, which
    stands for any end."""
    return (
        type(value) is list and len(value) == 2 and all(type(part) is str for part in value)
        and value[0] in ("", *(tier.lower() for tier in FACT_TIERS)) and value[1] != "" and "*" not in value[1][:-1]
    )  # fmt: skip


def _is_fact_rule(value: Any) -> bool:
    """Return whether a value is [patterns, readers, writers]."""
    return (
        type(value) is list and len(value) == 3 and _list_of(_is_pattern)(value[0])
        and are_names(value[1]) and are_names(value[2])
    )


def is_store(value: Any) -> bool:
    """Return whether a value is the table of a store, as an image holds it (M-8.2)."""
    return _table(STORE, "name", "kind")(value) and (value["kind"] not in SERVERS or "url_env" in value)


def is_embedder(value: Any) -> bool:
    """Return whether a value is the table of an embedder, as an image holds it (M-10.16)."""
    sound = _table(EMBED, "name", "kind")(value)
    return sound and (value["kind"] != "connection" or ("connection" in value and "model" in value))


def _is_summary(value: Any) -> bool:
    """Return whether a value is a summary's table in which exactly one of SUMMARISERS says who makes it."""
    return _table(SUMMARY)(value) and sum(who in value for who in SUMMARISERS) == 1


def _are_apart(parts: Mapping[str, Argument], name: str) -> Takes:
    """Return the test of a list of tables with all of these parts, of which no two have the same `name`."""
    tables = _list_of(_table(parts, *parts))
    return lambda value: tables(value) and len({part[name] for part in value}) == len(value)


# ----------------------------------------------------------------
# Kinds of arguments, by the words that `Argument.kind` has; the functions of like names below say what each is.

COUNT, SHARE, DURATION, TEXT, FLAG = "count", "share", "duration", "text", "flag"
WORD, SOME, SWITCH, REDACTOR = "word", "some", "switch", "redactor"
FUNCTION, FUNCTIONS, PLACE = "function", "functions", "place"  # of a PLACE the machine calls the function, not the policy
NAMES, TABLE = "names", "table"


class Argument:
    """One argument of a step. Of the functions below, each makes the row of one kind: `image` is as here, `more` are further
    arguments of this class, and where a kind has a field, it is called as in an image unless `more` says otherwise.

    image: its name in the steps of an image, and in the table that a step like `summary` has there.
    kind, takes: what it is in a source, and the test of its value in an image. `words` are those that it may be; `signature` is
    the type of a function.
    field: what the policy calls it, `GROUP.PART` for a part of a record of its own; None for what is no matter of the policy.
    default: what the policy has without the step. `stored`: the default of a memory with a store, where it is another one.
    shows: it changes what a view shows. stores: it acts when messages are stored, so that they cannot only be noted (M-14.1).
    retains: it bounds the log; `runtime/memory/retention.py` has its rule. fifo: with it alone the log is a queue, which has a
    fast form. below: the bound that it has to be below. stat: its place and its name in `stats()` (M-6.15).
    """

    __slots__ = (
        "image", "kind", "takes", "words", "signature", "field", "default", "stored", "shows", "stores", "retains", "fifo",
        "below", "stat",
    )  # fmt: skip

    def __init__(
        self,
        image: str,
        kind: str,
        takes: Takes,
        *,
        words: tuple[str, ...] = (),
        signature: str = "",
        field: str | None = None,
        default: Any = None,
        stored: Any = None,
        shows: bool = False,
        stores: bool = False,
        retains: bool = False,
        fifo: bool = False,
        below: str | None = None,
        stat: tuple[int, str] | None = None,
    ) -> None:
        self.image = image
        self.kind = kind
        self.takes = takes
        self.words = words
        self.signature = signature
        self.field = field
        self.default = default
        self.stored = stored
        self.shows = shows
        self.stores = stores or retains
        self.retains = retains
        self.fifo = fifo
        self.below = below
        self.stat = stat


def count(image: str, **more: Any) -> Argument:
    """Return the row of an Int of at least 1, which a run may compute (M-2.14)."""
    return Argument(image, COUNT, is_count, **{"field": image, **more})


def share(image: str, **more: Any) -> Argument:
    """Return the row of a number from 0 to 1."""
    return Argument(image, SHARE, is_share, **{"field": image, **more})


def duration(image: str, **more: Any) -> Argument:
    """Return the row of a duration, an Int of milliseconds in an image (M-2.7)."""
    return Argument(image, DURATION, is_count, **{"field": image, **more})


def text(image: str, takes: Takes = is_text, **more: Any) -> Argument:
    """Return the row of a String."""
    return Argument(image, TEXT, takes, **more)


def flag(image: str, **more: Any) -> Argument:
    """Return the row of an argument that an image has as `true` or not at all."""
    return Argument(image, FLAG, is_true, **more)


def word(image: str, words: tuple[str, ...], **more: Any) -> Argument:
    """Return the row of one of several words."""
    return Argument(image, WORD, _one_of(words), words=words, **{"field": image, **more})


def some(image: str, words: tuple[str, ...], **more: Any) -> Argument:
    """Return the row of a list of words."""
    return Argument(image, SOME, _some_of(words), words=words, **{"field": image, **more})


def switch(image: str, words: tuple[str, ...], field: str, **more: Any) -> Argument:
    """Return the row of a word that an image has only when it is the last of `words`; the policy has a Bool for it."""
    return Argument(image, SWITCH, _one_of(words[-1:]), words=words, field=field, default=False, **more)


def function(image: str, signature: str, **more: Any) -> Argument:
    """Return the row of a function of the program of this type."""
    return Argument(image, FUNCTION, is_function, signature=signature, **{"field": image, **more})


def functions(image: str, signature: str, **more: Any) -> Argument:
    """Return the row of a list of functions: each time that the step is written adds one."""
    return Argument(image, FUNCTIONS, _list_of(is_function), signature=signature, field=image, default=(), **more)


def redactors(image: str, words: tuple[str, ...], signature: str, **more: Any) -> Argument:
    """Return the row of a list of words and functions."""
    takes = _list_of(lambda value: is_function(value) or _one_of(words)(value))
    return Argument(image, REDACTOR, takes, words=words, signature=signature, field=image, default=(), **more)


def names(image: str, takes: Takes = are_names) -> Argument:
    """Return the row of a list of names of models and agents, or with another `takes` of rules in which such names are."""
    return Argument(image, NAMES, takes)


def table(image: str, takes: Takes, **more: Any) -> Argument:
    """Return the row of a step that the checker reads and checks by code of its own."""
    return Argument(image, TABLE, takes, **more)


# ----------------------------------------------------------------
# The tables that some steps have in an image.

SUMMARY_PROMPT = "Update the summary. Keep names, numbers, decisions and open questions. Reply with the summary only."
HALF_LIFE = 30 * 86_400_000  # milliseconds: 30 days

# M-9.1, M-9.2. Who makes it is one of the first three; without `every_turns` and `every_ms` it is made at evictions.
SUMMARY: dict[str, Argument] = {
    row.image: row
    for row in (
        text("model"),
        Argument("function", FUNCTION, is_function),
        text("host"),
        count("every_turns", stat=(11, "summary_every_turns")),
        duration("every_ms", stat=(12, "summary_every_ms")),
        switch("from", FROM, "whole"),
        word("inject", INJECT, default="Prefix"),
        word("role", SUMMARY_ROLES, default="System"),
        count("max_tokens", stat=(13, "summary_max_tokens")),
        text("prompt", field="prompt", default=SUMMARY_PROMPT),
        text("text", lambda value: is_text(value) and value.count(HOLE) == 1, field="text", default=f"[summary] {HOLE}"),
    )
}
EVERY = ("every_turns", "every_ms")
SUMMARY_ARGUMENTS = tuple(dict.fromkeys("every" if name in EVERY else name for name in SUMMARY if name not in SUMMARISERS))
"""The arguments of `summary` that have names in a source."""
# M-8.2 to M-8.8.
STORE: dict[str, Argument] = {
    row.image: row
    for row in (
        text("name"), word("kind", STORE_KINDS), text("path"), text("url_env"), text("namespace"), flag("compress"),
    )
}  # fmt: skip
# M-10.16.
EMBED: dict[str, Argument] = {
    row.image: row for row in (text("name"), word("kind", EMBEDDER_KINDS), text("connection"), text("model"), count("dimensions"))
}
# M-10.22.
RULE: dict[str, Argument] = {
    row.image: row
    for row in (
        text("name"),
        text("on"),
        function("by", "fn(Map<String, Any>) -> String?"),
        function("when", "fn(Observed) -> Bool"),
        function("store", "fn(Observed) -> Learned"),
    )
}
# M-6.37.
HANDLER: dict[str, Argument] = {
    row.image: row for row in (word("event", tuple(EVENTS)), Argument("with", FUNCTION, is_function))
}


# ----------------------------------------------------------------
# The steps.


class Step:
    """One step.

    doc: what it does, and the clause. arguments: by their names in a source, "" for the one without a name. lead: the names that
    arguments without a name have in the field of a memory block (M-2.26). own: rows of what is read on its own, whose arguments
    are not plain values; `own_labels` are the names of those.
    example: what the step looks like. repeated: it may be written several times. bare: it may be written without arguments, and
    then this is its row. required: arguments that it is not without.
    of_view: a derived view may have it. no_value: why a memory value does not. of_units: it is without use where only a summary
    is shown (M-9.18). taken_over: `like` and defaults give it. defaults: `[memory.defaults]` may say its first
    argument, and this is its place in the list of those.
    """

    __slots__ = (
        "doc", "arguments", "lead", "own", "own_labels", "example", "repeated", "bare", "required", "of_view", "no_value",
        "of_units", "taken_over", "defaults",
    )  # fmt: skip

    def __init__(
        self,
        doc: str,
        arguments: Mapping[str, Argument] | None = None,
        *,
        lead: tuple[str, ...] = (),
        own: tuple[Argument, ...] = (),
        own_labels: tuple[str, ...] = (),
        example: str = "",
        repeated: bool = False,
        bare: Argument | None = None,
        required: tuple[str, ...] = (),
        of_view: bool = False,
        no_value: str | None = None,
        of_units: bool = False,
        taken_over: bool = True,
        defaults: int | None = None,
    ) -> None:
        self.doc = doc
        self.arguments: Mapping[str, Argument] = arguments or {}
        self.lead = lead
        self.own = own
        self.own_labels = own_labels
        self.example = example
        self.repeated = repeated
        self.bare = bare
        self.required = required
        self.of_view = of_view
        self.no_value = no_value
        self.of_units = of_units
        self.taken_over = taken_over
        self.defaults = defaults

    @property
    def rows(self) -> tuple[Argument, ...]:
        """All arguments that an image may have of the step."""
        return (*self.arguments.values(), *self.own, *(() if self.bare is None else (self.bare,)))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names that arguments may have in the field of a memory block."""
        return (*self.lead, *(label for label in self.arguments if label), *self.own_labels)


TO_TEXT = "fn(String) -> String"
ENDS = "it ends with the last handle of it"

# The order is the one in which steps are listed to the reader.
STEPS: dict[str, Step] = {
    "retain": Step(
        "the bounds of the log (M-4.2)",
        {
            "": count("retain", retains=True, fifo=True, stat=(1, "retain")),
            "low": count("retain_low", retains=True, below="retain", stat=(2, "retain_low")),
            "tokens": count("retain_tokens", retains=True, stat=(3, "retain_tokens")),
        },
        lead=("messages",), example=".retain(20), .retain(20, tokens: 4000)", defaults=1,
    ),
    "tools": Step(
        "tool units are stored too (M-4.3)",
        bare=flag("tools", field="tools", default=False), example=".tools()", defaults=8,
    ),
    "redact": Step(
        "what rewrites every text before it is stored (M-4.4)",
        {"": redactors("redact", REDACTORS, TO_TEXT, stores=True)}, example=".redact(Pii), .redact(|text| text)", defaults=9
    ),
    "roles": Step(
        "whose messages are shown (M-4.5)",
        {"": some("roles", ROLES, shows=True)}, example=".roles([User, Assistant])", of_view=True, defaults=6,
    ),
    "pin": Step(
        "which units are never evicted, filtered, pruned or windowed (M-4.6)",
        {
            "": some("pin_roles", ROLES, default=frozenset(), stores=True),
            "when": functions("pin_when", "fn(Message) -> Bool", stores=True),
        },
        lead=("roles",), example=".pin([System]), .pin(when: |m| m.role == \"system\")", repeated=True, of_view=True,
    ),
    "only": Step(
        "the summary is all that is shown (M-9.17)",
        {"": switch("only", ONLY, "only_summary", shows=True)}, example=".only(Summary)", of_view=True,
    ),
    "prune": Step(
        "turns that are as similar to a newer one are hidden (M-4.7)",
        {"similar": share("prune", shows=True, stat=(8, "prune"))}, example=".prune(similar: 0.9)", of_view=True, defaults=7
    ),
    "clip": Step(
        "the most tokens of a shown tool result, and what shortens it (M-4.8)",
        {"": count("clip", shows=True, stat=(9, "clip")), "with": function("clip_with", TO_TEXT)},
        lead=("tokens",), example=".clip(200)", of_view=True, of_units=True, defaults=4,
    ),
    "media": Step(
        "the newest turns whose media are shown; older media are their Display (M-4.35)",
        {"last": count("media_last", shows=True)}, example=".media(last: 3)", of_view=True, of_units=True, required=("last",)
    ),
    "window": Step(
        "the newest messages or turns are shown (M-4.9 to M-4.11)",
        {
            "": count("window", shows=True, stat=(4, "window")),
            "low": count("window_low", shows=True, stores=True, below="window", stat=(5, "window_low")),
            "turns": count("window_turns", shows=True, stat=(6, "window_turns")),
        },
        lead=("messages",), example=".window(20), .window(turns: 10)", of_view=True, defaults=2,
    ),
    "tokens": Step(
        "the most tokens of the first request of a run (M-4.12)",
        {"": count("tokens", shows=True, stat=(7, "token_limit"))}, example=".tokens(4000)", of_view=True, defaults=3
    ),
    "on_failure": Step(
        "what becomes of a turn that fails (M-4.14)",
        {"": word("on_failure", ON_FAILURE, default="Discard")}, example=".on_failure(Record)", defaults=10,
    ),
    "on_conflict": Step(
        "what becomes of a turn that another one came before (M-4.15)",
        {"": word("on_conflict", ON_CONFLICT, default="Append", stored="Serial")}, example=".on_conflict(Serial)", defaults=11
    ),
    "shape": Step(
        "what replaces the shown messages (M-4.13)",
        {"": function("shape", "fn(Array<Message>) -> Array<Message>", shows=True)},
        example=".shape(|messages| messages)", of_view=True, of_units=True,
    ),
    "refresh": Step(
        "each request of a run reads the log anew (M-5.31)",
        {"": switch("refresh", REREAD, "refresh", shows=True)}, example=".refresh(Step)", of_view=True, of_units=True
    ),
    "weight": Step(
        "its share of a budget that several memories have (M-9.14)",
        {"": count("weight", default=1)}, example=".weight(2)", of_view=True, defaults=5,
    ),
    "ttl": Step(
        "how long a key lives without a commit (M-8.9)",
        {"": duration("ttl", stores=True, stat=(10, "ttl"))}, example='.ttl("30d")', no_value=ENDS, defaults=14,
    ),
    "embed": Step(
        "who gives facts their vectors (M-10.16)",
        {"": text("embed", is_embedder)}, example='.embed("offline")', defaults=13,
    ),
    "store": Step(
        "where it is kept (M-8.2, M-8.8)",
        {"": text("store", is_store), "compress": STORE["compress"]},
        lead=("name",), example='.store("durable")', required=("",), no_value=f"{ENDS}, and no other run could find it",
        defaults=12,
    ),
    "allow": Step(
        "who may attach it, and whose facts are whose (M-4.16, M-10.35)",
        {"read": names("allow_read"), "write": names("allow_write"), "facts": names("allow_facts", _list_of(_is_fact_rule))},
        example=".allow(read: [M], write: [M])",
    ),
    "recall": Step(
        "facts, and messages, that fit the prompt are shown (M-10.15)",
        {
            "k": count("recall_k", field="recall.k", default=10, stat=(14, "recall_k")),
            "from": some("recall_tiers", SOURCES, field="recall.tiers"),
            "min_confidence": share(
                "recall_min_confidence", field="recall.min_confidence", default=0.0, stat=(15, "recall_min_confidence")
            ),
            "inject": word("recall_inject", INJECT, field="recall.inject", default="Suffix"),
            "half_life": duration("recall_half_life", field="recall.half_life", default=HALF_LIFE),
        },
        bare=flag("recall", field="recall", shows=True), example=".recall(), .recall(k: 5)", of_view=True, of_units=True,
    ),
    "decay": Step(
        "how persistent facts fade (M-10.18)",
        {
            "rate": share("decay_rate", field="decay.rate"),
            "per": duration("decay_per", field="decay.per"),
            "floor": share("decay_floor", field="decay.floor", default=0.0),
            "archive_below": share("decay_archive_below", field="decay.archive_below", default=0.0),
            "refresh_on": word("decay_refresh_on", REFRESH_ON, field="decay.refresh_on", default="Access"),
        },
        example='.decay(rate: 0.01, per: "1d", floor: 0.3)', required=("rate", "per"),
        no_value="its facts end with the last handle of it",
    ),
    "was": Step(
        "the name that it is stored under (M-7.8)",
        {"": text("was")}, example='.was("old")', no_value="nothing of it was stored by an earlier program", taken_over=False
    ),
    "per": Step(
        "the parts of its key, and the values of those that were added (M-7.3, M-7.9)",
        own=(
            table("keys", are_names),
            table("key_defaults", lambda value: type(value) is dict and bool(value) and all(map(is_key_value, value.values()))),
        ),
        example=".per(tenant, user)", no_value="it is one conversation",
    ),
    "view": Step(
        "the function that gives the shown messages (M-4.30)",
        own=(Argument("view_with", PLACE, is_function, field="view_with", shows=True),), own_labels=("with",),
        example=".view(with: f)", of_view=True, of_units=True,
    ),
    "on": Step(
        "functions that hear of it (M-6.37)",
        lead=("event", "with"), own=(table("on", _are_apart(HANDLER, "event")),),
        example='.on(Commit, |e| emit("stored", e))', repeated=True,
    ),
    "summary": Step(
        "what stands for messages that are not shown any more (M-9.1)",
        lead=("by",), own=(table("summary", _is_summary, field="summary", shows=True, stores=True),),
        own_labels=SUMMARY_ARGUMENTS, example=".summary(MODEL, every: 10)", of_view=True,
    ),
    "learn": Step(
        "rules that make facts of what is observed (M-10.22)",
        lead=("name",), own=(table("learn", _are_apart(RULE, "name"), field="learn", default=(), stores=True),),
        own_labels=tuple([label for label in RULE if label != "name"]),
        example='.learn("name", on: "topic", by: |o| o.kind, when: |g| g.count >= 3, store: |g| Learned { content: g.key })',
        repeated=True,
    ),
    # An image has its slots beside the steps.
    "context": Step("its slots (M-10.2)", example=".context(Project)"),
    "like": Step("the steps of another memory (M-2.12)", example=".like(support)", of_view=True, taken_over=False),
}  # fmt: skip


OF = "of"
# What it begins with; what acts when a turn is stored; what is shown; then which logs it has, where they are, and who uses them.
FIELDS = (
    OF, "like",
    "tools", "redact", "pin", "retain", "learn", "on_failure", "on_conflict",
    "roles", "prune", "clip", "media", "window", "tokens", "summary", "only", "recall", "shape", "view", "refresh", "weight",
    "context", "per", "store", "was", "ttl", "embed", "decay", "allow", "on",
)  # fmt: skip
"""The fields of a memory block in the order in which `concerto fmt` writes them: that in which they act (M-2.29, M-4.1)."""


BLOCK: dict[str, Step] = {
    name: STEPS[name] if name != OF else Step("the memory or view that a derived view is of (M-2.27)", example="Memory::of(log)")
    for name in FIELDS
}
"""Per field what it is. `of` is no step: it says what the chain begins with."""


def field_rank(name: str) -> int:
    """Return the place of a field among FIELDS, from 0; a name that is no field comes last."""
    return FIELDS.index(name) if name in BLOCK else len(FIELDS)


def rows() -> Iterator[Argument]:
    """Yield the rows of all arguments of all steps."""
    for step in STEPS.values():
        yield from step.rows


WORD_STEPS = ("on", *(name for name, step in STEPS.items() if "" in step.arguments and step.arguments[""].words))
WORD_ARGUMENTS = {
    *(label for step in STEPS.values() for label, row in step.arguments.items() if label and row.words),
    *(label for label, row in SUMMARY.items() if row.words),
}
"""Steps, and named arguments, in which a capitalised name is a word and no name of the program."""
EVICT = "Evict"
"""The one word of `every` of a summary, which is otherwise a number or a duration."""
BOUNDS = {
    row.image: f"{label} of {name}" if label else name
    for name, step in STEPS.items()
    for label, row in step.arguments.items()
    if row.kind == COUNT
}
"""The bounds that a run may compute (M-2.14), with the words by which messages name them."""
LOG_BOUND = "retain"
"""The one bound that an image has beside the steps: `max_messages`."""
# Low bounds, each with the bound that it has to be below.
LOWS = {row.image: row.below for row in rows() if row.below is not None}


def _are_bounds(value: Any) -> bool:
    """Return whether a value says which bounds of a declared memory initialisation computes, or a function of the key for each
    (M-2.14, M-2.17)."""
    is_map = type(value) is dict and bool(value) and all(name in BOUNDS for name in value)
    return is_map and all(at is True or is_function(at) for at in value.values())


ACCEPTED: dict[str, Takes] = {
    **{row.image: row.takes for row in rows() if row.image != LOG_BOUND and row is not STORE["compress"]},
    "bounds": _are_bounds,
    "made": lambda value: are_names(value) and all(name in BOUNDS for name in value),
}
"""The test of each value of an image, by its name there."""
# Names in an image of what a memory value cannot have (M-2.19).
NO_VALUE = {"bounds", *(row.image for step in STEPS.values() if step.no_value is not None for row in step.rows)}


def problem(steps: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what is wrong with the steps of a memory in an image, as a text, and the name there of the step concerned ("" for
    none); None when nothing is wrong."""
    for name, value in steps.items():
        if name not in ACCEPTED:
            return f"this version knows no memory step {name!r}", ""
        if not ACCEPTED[name](value):
            return "no value of this step", name
    for name, step in STEPS.items():
        needed = [step.arguments[label].image for label in step.required] if step.bare is None else [step.bare.image]
        missing = next((image for image in needed if image not in steps), None)
        if missing is not None and any(row.image in steps for row in step.arguments.values()):
            return f"details of `{name}` without it", missing
    if not set(steps.get("key_defaults", ())) <= set(steps.get("keys", ())):
        return "a value for a key part that is missing", "key_defaults"
    computed = [*steps.get("bounds", ()), *steps.get("made", ())]
    if any(name in steps for name in computed):
        return "a bound that is both written and computed", ""
    if "made" in steps and any(name in steps for name in NO_VALUE):
        return "a step that no memory value has", "made"
    written = [name for low, name in LOWS.items() if low in steps and name not in (LOG_BOUND, *computed)]
    if any(steps[low] >= steps.get(name, 0) for low, name in LOWS.items() if name in written):
        return "a low bound that is not below its bound", ""
    return None


def written_problem(retain: int | None, steps: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the written bounds of a memory in an image, as a text; None when nothing is. `retain` stands
    beside the steps there. Bounds that a run computes are left out."""
    computed = [*steps.get("bounds", ()), *steps.get("made", ())]
    written = {name: steps[name] for name in BOUNDS if name in steps and LOWS.get(name) not in computed}
    wrong = bound_problem({**written, LOG_BOUND: retain})
    return None if wrong is None else f"`{BOUNDS[wrong[0]]}`: {wrong[2]}"


def bound_problem(bounds: Mapping[str, Any]) -> tuple[str, Any, str] | None:
    """Return the name in an image of the first bound that is wrong, its value, and why, as a text (M-2.15); None when all fit.
    `bounds`: those of a run, and the written ones, by that name; None, or no entry, for a bound that is not set."""
    for name in BOUNDS:
        value = bounds.get(name)
        if value is not None and not is_count(value):
            return name, value, "it is an Int of at least 1, or nil"
    for name, of in LOWS.items():
        low, bound = bounds.get(name), bounds.get(of)
        if low is not None and (bound is None or low >= bound):
            return name, low, f"it is below `{of}`, which is {'nil' if bound is None else bound}"
    window, retain = bounds.get("window"), bounds.get("retain")
    if window is not None and retain is not None and window > retain:
        return "window", window, f"it is at most `retain`, which is {retain}"
    return None
