"""What was meant by a name that nothing declares: the nearest spelling, everyday names of other languages, families of
errors, modules of the library (L-4.1.5).

Hands on `nearest`, `did_you_mean` and `listed` for every phase that has candidates, with `limited_patience`, by which the checker
bounds their time, and `patient` and `spend`, by which resolver and checker ask whether any is left and take their own work off
it; `by_nearness` and EVENT_OF_A_MEMORY to the checker; the tables of names of other languages (`METHODS`, `FIELDS`, `STEPS` …),
which resolver and checker try before the nearest spelling, `VALUES` to `compiler/fields.py` and `MODULES` to the hints of
imports; and `everyday_name`, `everyday_type`, `family_help`, `library_help` and `offers_help`, which return to the resolver, and
the first to the checker too, the text of a help or None. A new everyday name is a row of one of the tables. Nothing is reported
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from ...vm.builtins.modules import STD_MODULES, STD_TYPES, std_module
from ...vm.values.errors import FAMILIES, is_family

# Distances between names.


def distance(a: str, b: str, limit: int) -> int:
    """Return the distance of two texts in edits: letters put in, left out or replaced, and swaps of two neighbours, within which
    nothing else is edited; some number above `limit` when it is larger than that."""
    # Each edit changes the length by one at most.
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        # Later rows never hold smaller values, so the answer is known.
        if min(row) > limit:
            return limit + 1
        before, previous = previous, row
    return previous[-1]


LONGEST = 100  # letters of a name that is compared with others
PATIENCE = 1_000_000  # letters that are compared for one program, and candidates looked at
# What is left of PATIENCE; a hundred errors are shown (L-4.1.4), so tens of thousands need no help each.
_patience: ContextVar[list[int] | None] = ContextVar("patience", default=None)


@contextmanager
def limited_patience() -> Iterator[None]:
    """Compare names in the body until PATIENCE letters are used up; later unknown names get no suggestion (G-5.11). The budget
    belongs to the context, so compilations in other threads have their own. To be used in `with`."""
    token = _patience.set([PATIENCE])
    try:
        yield
    finally:
        _patience.reset(token)


def patient() -> bool:
    """Return whether names are still compared: always, outside of `limited_patience`."""
    left = _patience.get()
    return left is None or left[0] > 0


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate within max(1, length // 3) edits of the name, the one of the smallest distance, then the first by
    alphabet; None when nothing is near, for a name of more than LONGEST letters, and when PATIENCE is used up. A name of one
    letter has no nearest: every other one is one edit away, which says nothing. The name itself is never returned."""
    # Longer names are generated ones, of which no other is meant.
    if not 2 <= len(name) <= LONGEST or not patient():
        return None
    limit = max(1, len(name) // 3)
    names = set(candidates)
    spend(len(names))
    ranked: list[tuple[int, str]] = []
    for candidate in names:
        # The length alone rules most candidates out.
        if candidate != name and abs(len(candidate) - len(name)) <= limit:
            edits = distance(name, candidate, limit)
            spend(len(candidate) * min(len(name), 2 * limit + 2))
            if edits <= limit:
                ranked.append((edits, candidate))
    return min(ranked)[1] if ranked else None


def spend(letters: int) -> None:
    """Take letters off what is left of PATIENCE, for work as long as comparing so many; outside of `limited_patience` nothing is
    counted."""
    left = _patience.get()
    if left is not None:
        left[0] -= letters


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return the help ``did you mean `x`?``, or None when nothing is near, as of `nearest`."""
    near = nearest(name, candidates)
    return None if near is None else f"did you mean `{near}`?"


def listed(what: str, names: Sequence[str], limit: int = 8, *, like: str = "") -> str | None:
    """Return the help `methods are: …` with the first `limit` names, those most like the text `like` before the others; None
    without names. All stay in their order for a `like` of more than LONGEST letters and when PATIENCE is used up. `what` is their
    plural noun."""
    # Sorting by likeness costs a comparison for each name, which uses up PATIENCE.
    ranked = sorted(names, key=lambda name: _unlikeness(like, name)) if len(like) <= LONGEST and patient() else names
    spelled = ", ".join(f"`{name}`" for name in ranked[:limit])
    return f"{what} are: {spelled}{', …' if len(names) > limit else ''}" if names else None


def by_nearness(name: str, candidates: Sequence[str]) -> Sequence[str]:
    """Return all candidates, the nearest to the name first, then by alphabet; as they are for a name of more than LONGEST letters
    and when PATIENCE is used up."""
    if len(name) > LONGEST or not patient():
        return candidates
    spend(sum([len(candidate) * len(name) for candidate in candidates]))
    return sorted(candidates, key=lambda other: (distance(name, other, len(name) + len(other)), other))


def _unlikeness(name: str, candidate: str) -> int:
    """Return 0 where one name begins or ends with the other (`lenght`, `len`), else the number of edits; beyond half of the
    letters it is some number above that half."""
    a, b = name.lower(), candidate.lower()
    spend(1 + len(a) * min(len(b), LONGEST))
    if len(b) > LONGEST:
        return len(a)
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) > 2 and (longer.startswith(shorter) or longer.endswith(shorter)):
        return 0
    return distance(a, b, len(a) // 2)


# Modules of other languages and the one of the library that does the same here: the one table, read by the helps of imports
# and of paths.

MODULES: dict[str, str] = {
    **dict.fromkeys(("Math", "Random", "random"), "math"),
    **dict.fromkeys(("Date", "datetime", "DateTime", "chrono", "zoneinfo"), "date"),
    **dict.fromkeys(("Instant", "perf_counter"), "time"),
    **dict.fromkeys(("base64", "binascii", "hex"), "encoding"),
    **dict.fromkeys(("URL", "URLSearchParams"), "url"),
    **dict.fromkeys(("stdin", "readline", "bufio"), "io"),
    **dict.fromkeys(("JSON", "serde_json"), "json"),
    **dict.fromkeys(("os", "process", "sys", "dotenv"), "env"),
    **dict.fromkeys(("path", "pathlib", "File"), "fs"),
    **dict.fromkeys(("requests", "reqwest", "axios", "fetch", "urllib", "httpx", "aiohttp"), "http"),
    **dict.fromkeys(("re", "RegExp", "Regex", "regexp"), "regex"),
    **dict.fromkeys(("logging", "logger"), "log"),
    **dict.fromkeys(("hashlib", "uuid"), "crypto"),
    **dict.fromkeys(("strings",), "string"),
}


# Names of other languages and what stands for them here.

# Methods: candidates, of which the first that the receiver has is offered.
METHODS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("get_history", "getHistory", "history", "get_messages", "getMessages", "read"), ("messages",)),
    **dict.fromkeys(("get_recent", "getRecent", "recent"), ("last",)),
    **dict.fromkeys(("add_many", "add_messages", "addMessages"), ("append_all",)),
    **dict.fromkeys(("add_message", "addMessage"), ("append",)),
    **dict.fromkeys(("to_dict", "toDict", "toJSON", "to_json", "as_dict"), ("to_map",)),
    **dict.fromkeys(("reset", "delete_all"), ("clear",)),
    "store": ("append", "remember"),
    **dict.fromkeys(("length", "size", "count"), ("len",)),
    **dict.fromkeys(("append", "push_back"), ("push", "enqueue", "add")),
    **dict.fromkeys(("put", "insert", "add"), ("push", "set", "append", "insert", "enqueue", "add")),
    **dict.fromkeys(("upsert", "update", "add_document"), ("add",)),
    **dict.fromkeys(("add_documents", "insert_many", "upsert_all"), ("add_all",)),
    **dict.fromkeys(("similarity_search", "retrieve", "lookup", "recall"), ("search",)),
    "delete": ("remove",),
    "items": ("entries",),
    **dict.fromkeys(("contains", "has_key", "contains_key", "containsKey", "hasOwnProperty"), ("has",)),
    **dict.fromkeys(("has", "includes"), ("contains", "has")),
    **dict.fromkeys(("remove", "del"), ("delete", "remove")),
    "push": ("append", "enqueue", "insert", "add"),
    **dict.fromkeys(("popleft", "shift", "poll", "pop_front"), ("dequeue",)),
    **dict.fromkeys(("upper", "toUpperCase", "uppercase"), ("to_upper",)),
    **dict.fromkeys(("lower", "toLowerCase", "lowercase"), ("to_lower",)),
    **dict.fromkeys(("strip", "trim_space"), ("trim",)),
    "lstrip": ("trim_start",),
    "rstrip": ("trim_end",),
    **dict.fromkeys(("startsWith", "startswith"), ("starts_with",)),
    **dict.fromkeys(("endsWith", "endswith"), ("ends_with",)),
    **dict.fromkeys(("toString", "str"), ("to_string",)),
    "indexOf": ("index_of",),
    "find": ("index_of", "search"),
    "index": ("index_of", "add"),
    **dict.fromkeys(("flatMap", "flatten"), ("flat_map",)),
    "fold": ("reduce",),
    **dict.fromkeys(("extend", "push_all", "plus"), ("concat", "append_all")),
    **dict.fromkeys(("charAt", "char_at", "at"), ("get",)),
    "reversed": ("rev",),
    **dict.fromkeys(("step", "by"), ("step_by",)),
    **dict.fromkeys(
        ("ask", "call", "run", "exec", "invoke", "generate", "complete", "completion", "completions", "prompt", "send", "query"),
        ("execute", "search"),
    ),
    **dict.fromkeys(("extract", "structured"), ("execute_with_schema",)),
    "parse": ("execute_with_schema", "parse_int"),
    "execute": ("run",),
    **dict.fromkeys(("to_str", "as_string"), ("to_string",)),
    **dict.fromkeys(("toInt", "intValue"), ("to_int",)),
    **dict.fromkeys(("then", "and_then"), ("map",)),
}
# Methods that a form of the language stands for; `{name}` in a text is the one asked for, as in NAMES.
FORMS = {
    **dict.fromkeys(("forEach", "for_each", "each"), "write `for x in xs { … }`"),
    **dict.fromkeys(("format", "concat"), "write `\"…${x}\"`"),
    **dict.fromkeys(("iter", "into_iter", "collect", "to_list"), "leave it out: `map`, `filter` and the others give arrays"),
    **dict.fromkeys(("skip", "drop"), "write `xs[n..]`"),
    **dict.fromkeys(("take", "head"), "write `xs[..n]`"),
    **dict.fromkeys(("max", "min"), "write `xs.reduce(xs[0], |a, b| a.{name}(b))`"),
    "toFixed": 'write `std::fmt::format("{:.2}", [x])`',
    "join": "join what stands in the brackets: `xs.join(\",\")`",
    "splitlines": "use `lines()`",
    **dict.fromkeys(("match", "search", "test"), 'write `std::regex::is_match(r#"…"#, text)`'),
    **dict.fromkeys(("extend", "addAll"), "write `xs = xs.concat(ys);`"),
}
# Methods with their receiver `{x}` and their arguments `{a}` and `{b}`, by the kind of the receiver and the number of arguments.
_PREFIX = "write `if {x}.starts_with({a}) { {x}[{a}.len()..] } else { {x} }`"
_SUFFIX = "write `if {x}.ends_with({a}) { {x}[..{x}.len() - {a}.len()] } else { {x} }`"
_ONCE = "write `match {x}.index_of({a}) { Some(at) => ({x}[..at], {x}[at + {a}.len()..]), None => ({x}, \"\") }`"
_LEFT = "write `std::fmt::pad_left({x}, {a})`, or `std::fmt::format(\"{:>8}\", [{x}])`"
_RIGHT = "write `std::fmt::pad_right({x}, {a})`, or `std::fmt::format(\"{:<8}\", [{x}])`"
_REVERSED = "`reverse` changes what it is called on: `let mut reversed = {x}; reversed.reverse();`"
WRITTEN: dict[tuple[str, str, int], str] = {
    ("Array", "sorted", 0): "`sort` changes what it is called on: `let mut sorted = {x}; sorted.sort();`",
    **dict.fromkeys((("Array", name, 0) for name in ("reversed", "rev", "toReversed")), _REVERSED),
    **dict.fromkeys((("String", name, 1) for name in ("slice", "substr")), "write `{x}[{a}..]`"),
    **dict.fromkeys((("String", name, 2) for name in ("slice", "substr")), "write `{x}[{a}..{b}]`"),
    **dict.fromkeys((("Array", name, 2) for name in ("slice", "subarray")), "write `{x}[{a}..{b}]`"),
    **dict.fromkeys((("Array", name, 1) for name in ("slice", "skip", "drop")), "write `{x}[{a}..]`"),
    **dict.fromkeys((("Array", name, 1) for name in ("take", "head")), "write `{x}[..{a}]`"),
    **dict.fromkeys((("String", name, 1) for name in ("strip_prefix", "removeprefix", "trim_prefix", "TrimPrefix")), _PREFIX),
    **dict.fromkeys((("String", name, 1) for name in ("strip_suffix", "removesuffix", "trim_suffix", "TrimSuffix")), _SUFFIX),
    **dict.fromkeys((("String", name, 1) for name in ("split_once", "partition")), _ONCE),
    **dict.fromkeys((("String", name, 1) for name in ("pad_left", "padStart", "rjust", "pad_start")), _LEFT),
    **dict.fromkeys((("String", name, 1) for name in ("pad_right", "padEnd", "ljust", "pad_end")), _RIGHT),
    **dict.fromkeys(
        ((kind, name, 2) for kind in ("Map", "HashMap") for name in ("get_or", "getOrDefault", "get_or_default", "setdefault")),
        "write `{x}.get({a}) ?? {b}`",
    ),
}  # fmt: skip
# Methods that copy or borrow elsewhere: of every value.
COPIES = frozenset((
    "clone", "cloned", "clone_from", "copy", "copied", "deepcopy", "to_owned", "into", "as_str", "as_ref", "as_mut", "borrow",
    "borrow_mut", "to_vec",
))  # fmt: skip
COPIED = "write `{x}`: a value is copied where it is assigned or passed"
_CALLS = ("execute", "execute_with_schema", "stream", "chat")
# Arguments of functions elsewhere that have no such parameter here, by the function.
ARGUMENTS: dict[tuple[str, str], str] = {
    ("print", "end"): "leave it out: `print` writes no line end, `println` does",
    ("println", "end"): "write `print(x)`, which writes no line end",
    **dict.fromkeys((("print", "sep"), ("println", "sep")), 'write `println([a, b].join(", "))`'),
    **dict.fromkeys((("print", "file"), ("println", "file")), "write `std::log::error(x)`, which goes to stderr"),
    **dict.fromkeys((("sort", "key"), ("sorted", "key")), "write `xs.sort_by(|a, b| a.len() - b.len())`, your key for `len()`"),
    **dict.fromkeys((("sort", "reverse"), ("sorted", "reverse")), "write `xs.sort(); xs.reverse();`"),
    **dict.fromkeys(
        ((call, "memory") for call in _CALLS),
        "write `M.with(memory: log).execute(…)`, for an agent `A.with_memory(log).execute(…)`",
    ),
    **dict.fromkeys(((call, "tools") for call in _CALLS), "write `M.with_tools([T]).execute(…)`"),
    **dict.fromkeys(((call, "context") for call in _CALLS), "write `M.with_context(v).execute(…)`"),
    **dict.fromkeys(((call, "schema") for call in _CALLS), "write `M.execute<T>(…)`"),
    **{
        (call, field): f"it is a field of the model: `model M {{ …, {field}: … }}`"
        for call in _CALLS
        for field in ("temperature", "max_tokens", "top_p", "system_prompt", "base", "provider", "stop_sequences")
    },
    **dict.fromkeys(((call, "system") for call in _CALLS), "it is a field of the model: `model M { …, system_prompt: \"…\" }`"),
    **dict.fromkeys(((call, "model") for call in _CALLS), "it is a field of the model: `model M { …, base: \"…\" }`"),
}

_BOUND = "`.retain(n)` keeps the newest n messages, `.window(n)` sends only the newest n"
# Steps of a memory.
EVENT_OF_A_MEMORY = "`.on(Commit, |e| { … })` in its declaration is called when a turn is stored; `Step`, `Evict` and others too"
STEPS: dict[str, str] = {
    **dict.fromkeys(
        ("limit", "max", "max_messages", "max_size", "size", "length", "capacity", "keep", "last"), _BOUND
    ),
    **dict.fromkeys(("max_turns", "turns"), "`.window(turns: n)` sends only the newest n turns"),
    **dict.fromkeys(("max_tokens", "token_limit"), "`.tokens(n)` sends at most n tokens, `.retain(tokens: n)` keeps at most n"),
    **dict.fromkeys(("summarize", "summarise", "compact"), "use `.summary(…)`"),
    **dict.fromkeys(("persist", "save", "durable", "path"), "use `.store(\"durable\")`"),
    **dict.fromkeys(("filter", "map", "transform"), "`.shape(f)` changes what is sent, `.redact(f)` what is kept"),
    **dict.fromkeys(("expire", "expires", "expiry", "max_age"), "use `.ttl(\"30d\")`"),
    **dict.fromkeys(("key", "scope", "partition", "by"), "`.per(user)` makes one memory for each user"),
    **dict.fromkeys(
        ("read", "reader", "strategy", "prepare", "prepare_context", "prepare_messages", "before_call"),
        "`.view(with: f)` gives what is sent, and may ask a model",
    ),
    **dict.fromkeys(
        ("listen", "subscribe", "hook", "hooks", "callback", "on_commit", "on_step", "on_evict", "on_append", "on_store",
         "on_iteration_complete", "after_call"),
        EVENT_OF_A_MEMORY,
    ),
    **dict.fromkeys(("base", "source", "view_of", "derive"), "`Memory::of(log)` is a view of the log of another memory"),
    **dict.fromkeys(("reload", "reread", "live"), "`.refresh(Step)` shows at each step what others have stored meanwhile"),
}

# Fields of records, models and connections.
FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("content", "output", "message", "body"), ("text", "message")),
    **dict.fromkeys(("text", "message"), ("content", "text")),
    **dict.fromkeys(("model", "model_id", "id", "name"), ("base", "default_model")),
    **dict.fromkeys(("system", "instructions", "prompt"), ("system_prompt",)),
    "stop": ("stop_sequences",),
    **dict.fromkeys(("connection", "type", "kind"), ("provider",)),
    **dict.fromkeys(("url", "endpoint", "base", "azure_endpoint"), ("base_url",)),
    **dict.fromkeys(("key", "token", "access_token"), ("api_key",)),
    **dict.fromkeys(("location", "aws_region"), ("region",)),
    **dict.fromkeys(("project_id", "gcp_project"), ("project",)),
    **dict.fromkeys(("deployment", "azure_deployment", "deployment_name"), ("base", "default_model")),
    "retries": ("retry_policy", "retry"),
}

# Words that are the values of fields.
VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("server_error", "5xx", "internal", "internal_error", "overloaded"), ("server",)),
    **dict.fromkeys(("rate_limited", "rate_limit_error", "ratelimit", "429"), ("rate_limit",)),
    **dict.fromkeys(("network", "network_error", "connection_error"), ("connection",)),
    **dict.fromkeys(("timeout_error", "timed_out"), ("timeout",)),
    **dict.fromkeys(("sse", "streamable_http", "streamable-http", "https"), ("http",)),
    **dict.fromkeys(("exp", "expo", "exponential_backoff"), ("exponential",)),
}

# Types, with what a help writes in their place.
TYPES: dict[str, str] = {
    **dict.fromkeys(("List", "list", "Vec", "array", "Slice"), "`Array<T>`"),
    **dict.fromkeys(("Dict", "dict", "Dictionary", "map", "Object", "object", "Record"), "`Map<String, T>`"),
    **dict.fromkeys(("boolean", "Boolean", "bool"), "`Bool`"),
    **dict.fromkeys(("int", "integer", "Integer", "long", "i32", "i64", "u32", "u64", "usize"), "`Int`"),
    **dict.fromkeys(("float", "double", "Double", "f32", "f64"), "`Float`"),
    **dict.fromkeys(("number", "Number"), "`Int` or `Float`"),
    **dict.fromkeys(("string", "str", "Str", "text", "Text"), "`String`"),
    **dict.fromkeys(("void", "Void", "null", "Null", "None", "nil", "unit", "Unit", "undefined"), "`Nil`"),
    **dict.fromkeys(("any", "unknown", "dynamic"), "`Any`"),
    **dict.fromkeys(("Optional", "Maybe"), "`T?` or `Option<T>`"),
    **dict.fromkeys(
        ("date", "Date", "datetime", "DateTime", "Timestamp", "timestamp", "Instant"),
        "`std::date::DateTime`; in the schema of a reply `String`, which `std::date::parse` reads",
    ),
    **dict.fromkeys(("Decimal", "decimal", "Money", "BigDecimal"), "`Float`, or `Int` for a number of cents"),
    **dict.fromkeys(("Exception", "error", "BaseException"), "`Error`"),
    **dict.fromkeys(
        ("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "IOError", "OSError", "RangeError"),
        "`Error`, or a family such as `RuntimeError`, `ParseError`, `FsError`",
    ),
    **dict.fromkeys(("int32", "int64", "uint", "uint64", "i8", "u8", "i16", "u16", "isize", "bigint"), "`Int`"),
    **dict.fromkeys(("float32", "float64"), "`Float`"),
    **dict.fromkeys(("char", "Char"), "`String`"),
    "Model": "`ModelRef`",
    "Embedder": "`EmbedderRef`",
    **dict.fromkeys(("byte", "bytes", "bytearray", "Buffer", "Uint8Array"), "`Bytes`"),
    **dict.fromkeys(("Promise", "Future", "Awaitable"), "the type of the value alone: an `async fn` gives it when awaited"),
    **dict.fromkeys(("Box", "Rc", "Arc"), "the type inside: values are copied, there are no pointers"),
    **dict.fromkeys(("set", "HashSet"), "`Set<T>`"),
    **dict.fromkeys(("BTreeMap",), "`Map<K, V>`"),
    **dict.fromkeys(("tuple", "Tuple"), "`(A, B)`"),
    **dict.fromkeys(("callable", "Callable", "Function", "Fn", "FnMut", "FnOnce"), "`fn(A) -> B`"),
}

# Associated functions of predeclared types.
ASSOCIATED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("Map", "new"), ("Map", "from")), "write a map literal: `{}`"),
    **dict.fromkeys((("Array", "new"), ("Array", "from"), ("Array", "of")), "write an array literal: `[]`"),
    ("Option", "Some"): "write `Some(x)`",
    ("Option", "None"): "write `None`",
    ("Result", "Ok"): "write `Ok(x)`",
    ("Result", "Err"): "write `Err(e)`",
    ("Bytes", "new"): 'write `Bytes::from_string("")`',
    **dict.fromkeys((("String", "new"), ("String", "from")), 'write a string literal: `""`'),
}

_TO_INT = "write `text.parse_int()` or `x as Int`"
_TO_FLOAT = "write `text.parse_float()` or `x as Float`"
_TO_STRING = "write `x.to_string()` or `\"${x}\"`"
_SORTED = "sort a copy: `let mut ys = xs; ys.sort();`"
_STDIN = "write `std::io::read_line()?`"
# Heads of paths that do not exist here, by the whole path.
PATHS: dict[str, str] = {
    **dict.fromkeys(("Vec::new", "Vec::from", "List::new"), "write an array literal: `[]`"),
    **dict.fromkeys(("Box::new", "Rc::new", "Arc::new", "RefCell::new", "Mutex::new"), "write the value itself"),
    **dict.fromkeys(("HashSet::new", "BTreeSet::new"), "write `Set::new()`"),
    **dict.fromkeys(("BTreeMap::new", "Dict::new"), "write a map literal: `{}`"),
}
# Types that elsewhere come from a module and are here without `use`.
WITHOUT_USE = {
    **dict.fromkeys(
        ("HashMap", "BTreeMap", "Dict", "OrderedDict", "defaultdict"), "`Map<K, V>` is there without `use`, its literal is `{}`"
    ),
    **dict.fromkeys(("Vec", "List"), "`Array<T>` is there without `use`, and its literal is `[]`"),
    **dict.fromkeys(("HashSet", "BTreeSet"), "`Set<T>` is there without `use`: `Set::new()`"),
    **dict.fromkeys(("Optional", "Any", "Union", "Callable"), "types are there without `use`"),
    **dict.fromkeys(("VecDeque", "deque"), "`Queue<T>` is there without `use`: `Queue::new()`"),
}
# Functions and values.
NAMES: dict[str, str] = {
    **dict.fromkeys(("int", "Int", "parseInt", "parse_int"), _TO_INT),
    **dict.fromkeys(("float", "Float", "parseFloat", "parse_float", "double"), _TO_FLOAT),
    **dict.fromkeys(("str", "string", "String", "toString", "to_string"), _TO_STRING),
    **dict.fromkeys(("bool", "Bool"), "write `x as Bool`"),
    **dict.fromkeys(("list", "List"), "write an array literal: `[]`"),
    **dict.fromkeys(("dict", "Dict"), "write a map literal: `{}`"),
    "range": "write `a..b`, with steps `(a..b).step_by(n)`",
    "sorted": _SORTED,
    "reversed": "turn a copy round: `let mut ys = xs; ys.reverse();`; a range: `(a..b).rev()`",
    "sum": "write `xs.sum()`",
    "round": "write `x.round()`; to so many digits `std::fmt::number(x, decimals: 2)`, a text",
    **dict.fromkeys(
        ("max", "min", "abs", "floor", "ceil", "sqrt", "pow"), "write `std::math::{name}(…)`, or a method: `x.{name}(…)`"
    ),
    "enumerate": "write `xs.enumerate()`",
    "zip": "write `xs.zip(ys)`",
    **dict.fromkeys(("map", "filter", "any", "all", "reduce"), "write `xs.{name}(…)`"),
    **dict.fromkeys(("append", "push"), "write `xs.push(x)`, on a `let mut xs`"),
    "cap": "use `len`",
    "open": 'write `std::fs::read_file("…")?`, and to write `std::fs::write_file("…", text)?`',
    **dict.fromkeys(("input", "raw_input", "readline", "prompt"), _STDIN),
    **dict.fromkeys(("sleep", "setTimeout"), "write `std::time::sleep(1000)`, in milliseconds"),
    "fetch": 'write `std::http::get("…")?`',
    "pass": "leave it out: a block may be empty, `{ }`",
    "isinstance": 'write `typeof(x) == "Int"`, with the name of the type',
    "require": "write `use std::json;` at the top; a file `name.conc` beside this one is called as `name::…`",
    **dict.fromkeys(("exit", "quit"), 'return from `main`; for a failure `return Err(RuntimeError::new("…"))`'),
    "Model": 'declare it at module level: `model Bot { provider: openai, base: "…" }`',
    "Object": "write `d.keys()`, `d.values()` or `d.entries()`",
    "errors": 'make an error: `RuntimeError::new("…")`',
    "strconv": _TO_INT,
    **dict.fromkeys(("iota",), "write each constant with its value: `= 0`"),
    "super": "there is no inheritance; call the function of the field that holds it",
    **dict.fromkeys(("hasattr", "getattr"), 'ask a map: `d.has("…")`, `d.get("…")`'),
    **dict.fromkeys(("next",), "write `xs.first()`"),
    **dict.fromkeys(("null", "undefined", "NULL", "None_", "Nil"), "write `nil`"),
    "True": "write `true`",
    **dict.fromkeys(("Exception", "ValueError", "TypeError", "KeyError"), "make an error: `RuntimeError::new(\"…\")`"),
    "False": "write `false`",
    "this": "write `self`",
    "Memory": "declare `memory log: Memory = Memory::new();` at module level and give its name: `log`",
    **dict.fromkeys(("Promise", "asyncio"), "write `await (f(), g())` for all of them, `race(f(), g())` for the first"),
    "not": "logical not is `!`",
    "finally": "there is no `finally`; write the code behind the `try`",
    **dict.fromkeys(("console", "echo", "puts", "printf", "log"), "use `println`"),
    **dict.fromkeys(("size", "length", "count"), "use `len`"),
    **dict.fromkeys(("type", "typeOf"), "use `typeof`"),
    **dict.fromkeys(("raise", "abort"), "use `throw`, or `panic`"),
}


def everyday_name(name: str) -> str | None:
    """Return the help for a function or value of another language, or None."""
    help = NAMES.get(name)
    return help.replace("{name}", name) if help is not None else None


def everyday_type(name: str, arguments: list[str] | None = None) -> str | None:
    """Return the help for a type written as in another language, or None for a name without a row of TYPES; `arguments` are its
    type arguments as they stand in the source."""
    if name not in TYPES:
        return None
    help = f"write {TYPES[name]}"
    if arguments and len(arguments) == 1:
        return help.replace("<T>", f"<{arguments[0]}>").replace("`T?`", f"`{arguments[0]}?`")
    if arguments and len(arguments) == 2:
        return help.replace("<String, T>", f"<{', '.join(arguments)}>").replace("<K, V>", f"<{', '.join(arguments)}>")
    return help


def family_help(owner: str, name: str) -> str | None:
    """Return the help for a variant `name` that the family of errors `owner` does not have, or None. It names a family
    below `owner`, since its errors are caught where those of `owner` are: one with a variant of this name, or one with
    whose name the variant begins (`AgentError::SchemaValidation`)."""
    # A variant of a family above `owner` would not be caught where `owner` is.
    below = [family for family in FAMILIES.values() if family.name != owner and is_family(family.name, owner)]
    for family in below:
        if name in family.variants:
            return f"write `{family.name}::{name}`"
    for family in below:
        # `AgentError::SchemaValidation`: the variant names the family `SchemaError`.
        word = family.name.removesuffix("Error")
        if word and name.startswith(word):
            variants = listed("its variants", [*family.variants], like=name.removeprefix(word))
            return f"these errors are of the family `{family.name}`{f': {variants}' if variants else ''}"
    return None


# Functions of the library called without their import, or under the names other languages give them.

# Their functions, by module.
MEMBERS: dict[str, dict[str, str]] = {
    "json": {
        **dict.fromkeys(("loads", "load", "decode", "from_str"), "parse"),
        **dict.fromkeys(("dumps", "dump", "encode"), "stringify"),
    },
    "fs": {
        **dict.fromkeys(("read", "read_to_string", "read_text", "readFile", "readFileSync", "open"), "read_file"),
        **dict.fromkeys(("write", "write_text", "writeFile", "writeFileSync", "create"), "write_file"),
        **dict.fromkeys(("append", "appendFile"), "append_file"),
        **dict.fromkeys(("remove", "delete", "unlink"), "remove_file"),
        **dict.fromkeys(("read_dir", "listdir", "readdir", "list"), "list_dir"),
        **dict.fromkeys(("size", "stat"), "file_size"),
        **dict.fromkeys(("is_file", "existsSync"), "exists"),
    },
    "env": {**dict.fromkeys(("var", "getenv"), "get"), **dict.fromkeys(("environ", "env"), "get"), "vars": "all", "argv": "args"},
    "regex": {**dict.fromkeys(("match", "search", "test"), "is_match"), "findall": "find_all", "sub": "replace"},
    "time": {"time": "now_ms"},
    "io": {**dict.fromkeys(("readline", "input", "read", "stdin"), "read_line"), "read_to_string": "read_all"},
    "math": {"randint": "random_int", "ceiling": "ceil"},
    "fmt": {**dict.fromkeys(("Sprintf", "sprintf"), "format")},
    "string": {
        **dict.fromkeys(("Split",), "split"), "Join": "join", "Contains": "contains", "Replace": "replace",
        "ToUpper": "to_upper", "ToLower": "to_lower", "TrimSpace": "trim",
    },
}


# What is no function here, and why none is needed.
_EXIT = 'return from `main`; for a failure `return Err(RuntimeError::new("…"))`'
WITHOUT: dict[tuple[str, str], str] = {
    **dict.fromkeys((("io", "flush"), ("io", "stdout")), "leave it out: what is printed goes out at once"),
    **dict.fromkeys((("env", "exit"), ("env", "abort"), ("process", "exit"), ("process", "abort")), _EXIT),
    **dict.fromkeys(
        (("math", name) for name in ("choice", "sample")), "write `xs[std::math::random_int(0, xs.len() - 1)]` for one of `xs`"
    ),
}


def library_help(head: str, member: str) -> str | None:
    """Return the help for `head::member` or `head.member` where `head` is not declared, or None if no module of the library
    is meant."""
    # `Math.floor` and `os.environ` are meant for modules that have other names here.
    module = head if head in STD_MODULES else MODULES.get(head)
    if module is None:
        return None
    if (module, member) in WITHOUT:
        return WITHOUT[module, member]
    function = _member(module, member)
    call = f"`{module}::{function}(…)`" if function is not None else f"`{module}::…`"
    offers = "" if function is not None else f"; its {offers_help(module, member)}"
    return f"add `use std::{module};` and write {call}{offers}"


def offers_help(module: str, member: str) -> str | None:
    """Return the help for a function `member` that the module does not have; with an empty `module` for a module that the library
    does not have. None when nothing can be said."""
    if (module, member) in WITHOUT:
        return WITHOUT[module, member]
    function = _member(module, member)
    if function is not None:
        return f"use `{function}`"
    # The module itself does not exist.
    if not module:
        return listed("modules", STD_MODULES)
    return listed("functions", (*std_module(module), *STD_TYPES.get(module, ())), like=member) if module in STD_MODULES else None


def _member(module: str, name: str) -> str | None:
    """Return the function of the module that has this name, or is called so in other languages, or is spelled nearly so;
    else None."""
    functions = std_module(module)
    if name in functions:
        return name
    elsewhere = MEMBERS.get(module, {}).get(name)
    if elsewhere is not None:
        return elsewhere
    return nearest(name, functions)
