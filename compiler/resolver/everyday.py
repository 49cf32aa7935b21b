"""Names of other languages and what stands for them here: the one table of such helps (L-4.1.5).

Each entry is tried before the nearest spelling. Hands on the tables and `everyday_type`. Must not know: what names denote.
"""

from __future__ import annotations

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
    **dict.fromkeys(("append", "push_back"), ("push", "enqueue")),
    **dict.fromkeys(("put", "insert", "add"), ("push", "set", "append", "insert", "enqueue")),
    "items": ("entries",),
    **dict.fromkeys(("contains", "has_key", "contains_key", "containsKey", "hasOwnProperty"), ("has",)),
    **dict.fromkeys(("has", "includes"), ("contains", "has")),
    **dict.fromkeys(("remove", "del"), ("delete", "remove")),
    "push": ("append", "enqueue", "insert"),
    **dict.fromkeys(("popleft", "shift", "poll", "pop_front"), ("dequeue",)),
    **dict.fromkeys(("upper", "toUpperCase", "uppercase"), ("to_upper",)),
    **dict.fromkeys(("lower", "toLowerCase", "lowercase"), ("to_lower",)),
    **dict.fromkeys(("strip", "trim_space"), ("trim",)),
    "lstrip": ("trim_start",),
    "rstrip": ("trim_end",),
    **dict.fromkeys(("startsWith", "startswith"), ("starts_with",)),
    **dict.fromkeys(("endsWith", "endswith"), ("ends_with",)),
    **dict.fromkeys(("toString", "str"), ("to_string",)),
    **dict.fromkeys(("indexOf", "find", "index"), ("index_of",)),
    **dict.fromkeys(("flatMap", "flatten"), ("flat_map",)),
    "fold": ("reduce",),
    **dict.fromkeys(("extend", "push_all", "plus"), ("concat", "append_all")),
    **dict.fromkeys(("charAt", "char_at", "at"), ("get",)),
    "reversed": ("rev",),
    **dict.fromkeys(("step", "by"), ("step_by",)),
    **dict.fromkeys(
        ("ask", "call", "run", "exec", "invoke", "generate", "complete", "completion", "completions", "prompt", "send", "query"),
        ("execute",),
    ),
    **dict.fromkeys(("extract", "structured"), ("execute_with_schema",)),
    "parse": ("execute_with_schema", "parse_int"),
    "execute": ("run",),
    **dict.fromkeys(("to_str", "as_string"), ("to_string",)),
    **dict.fromkeys(("toInt", "intValue"), ("to_int",)),
    **dict.fromkeys(("then", "and_then"), ("map",)),
}
# Methods that a form of the language stands for.
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
    **dict.fromkeys(((call, "memory") for call in _CALLS), "write `M.with_memory(log).execute(…)`"),
    **dict.fromkeys(((call, "tools") for call in _CALLS), "write `M.with_tools([T]).execute(…)`"),
    **dict.fromkeys(((call, "context") for call in _CALLS), "write `M.with_context(v).execute(…)`"),
    **dict.fromkeys(((call, "schema") for call in _CALLS), "write `M.execute_with_schema<T>(…)`"),
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
    **dict.fromkeys(("url", "endpoint", "base"), ("base_url",)),
    **dict.fromkeys(("key", "token"), ("api_key",)),
    "retries": ("retry_policy", "retry"),
}

# Words that are the values of fields.
VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("server_error", "5xx", "internal", "internal_error", "overloaded"), ("server",)),
    **dict.fromkeys(("rate_limited", "rate_limit_error", "ratelimit", "429"), ("rate_limit",)),
    **dict.fromkeys(("network", "network_error", "connection_error"), ("connection",)),
    **dict.fromkeys(("timeout_error", "timed_out"), ("timeout",)),
    **dict.fromkeys(("sse", "streamable_http", "streamable-http", "https"), ("http",)),
    **dict.fromkeys(("exp", "exponential_backoff"), ("exponential",)),
}

# Types.
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
    """The help for a function or value of another language."""
    help = NAMES.get(name)
    return help.replace("{name}", name) if help is not None else None


def everyday_type(name: str, arguments: list[str] | None = None) -> str | None:
    """The help for a type written as elsewhere, with its arguments as they stand."""
    if name not in TYPES:
        return None
    help = f"write {TYPES[name]}"
    if arguments and len(arguments) == 1:
        return help.replace("<T>", f"<{arguments[0]}>").replace("`T?`", f"`{arguments[0]}?`")
    if arguments and len(arguments) == 2:
        return help.replace("<String, T>", f"<{', '.join(arguments)}>").replace("<K, V>", f"<{', '.join(arguments)}>")
    return help
