"""Names of other languages and what stands for them here: the one table of such helps (L-4.1.5).

Each entry is tried before the nearest spelling. Hands on the tables and `everyday_type`. Must not know: what names denote.
"""

from __future__ import annotations

# Methods: candidates, of which the first that the receiver has is offered.
METHODS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("length", "size", "count"), ("len",)),
    **dict.fromkeys(("append", "push_back"), ("push",)),
    **dict.fromkeys(("put", "insert", "add"), ("push", "set", "append")),
    "items": ("entries",),
    **dict.fromkeys(("contains", "has_key", "contains_key", "containsKey", "hasOwnProperty"), ("has",)),
    **dict.fromkeys(("has", "includes"), ("contains", "has")),
    **dict.fromkeys(("remove", "del"), ("delete", "remove")),
    "push": ("append",),
    **dict.fromkeys(("upper", "toUpperCase", "uppercase"), ("to_upper",)),
    **dict.fromkeys(("lower", "toLowerCase", "lowercase"), ("to_lower",)),
    **dict.fromkeys(("strip", "trim_space"), ("trim",)),
    "lstrip": ("trim_start",),
    "rstrip": ("trim_end",),
    **dict.fromkeys(("startsWith", "startswith"), ("starts_with",)),
    **dict.fromkeys(("endsWith", "endswith"), ("ends_with",)),
    **dict.fromkeys(("toString", "str"), ("to_string",)),
    **dict.fromkeys(("indexOf", "find", "index"), ("index_of",)),
    **dict.fromkeys(("substr", "slice"), ("substring",)),
    **dict.fromkeys(("flatMap", "flatten"), ("flat_map",)),
    "fold": ("reduce",),
    **dict.fromkeys(("extend", "push_all", "plus"), ("concat",)),
    **dict.fromkeys(("charAt", "char_at", "at"), ("get",)),
    "reversed": ("reverse", "rev"),
    "sorted": ("sort",),
    **dict.fromkeys(("step", "by"), ("step_by",)),
    **dict.fromkeys(
        ("ask", "call", "run", "exec", "invoke", "generate", "complete", "completion", "completions", "prompt", "send", "query"),
        ("execute",),
    ),
    **dict.fromkeys(("parse", "extract", "structured"), ("execute_with_schema",)),
}
# Methods that a form of the language stands for.
FORMS = {
    **dict.fromkeys(("forEach", "for_each", "each"), "write `for x in xs { … }`"),
    **dict.fromkeys(("format", "concat"), "write `\"…${x}\"`"),
    **dict.fromkeys(("iter", "into_iter", "collect", "to_list"), "leave it out: `map`, `filter` and the others give arrays"),
    **dict.fromkeys(("skip", "drop"), "write `xs[n..]`"),
    **dict.fromkeys(("take", "head"), "write `xs[..n]`"),
}

_BOUND = "`.retain(n)` keeps the newest n messages, `.window(n)` sends only the newest n"
# Steps of a memory.
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
    **dict.fromkeys(("Exception", "error"), "`Error`"),
}

# Associated functions of predeclared types.
ASSOCIATED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("Map", "new"), ("Map", "from")), "write a map literal: `{}`"),
    **dict.fromkeys((("Array", "new"), ("Array", "from"), ("Array", "of")), "write an array literal: `[]`"),
    ("Option", "Some"): "write `Some(x)`",
    ("Option", "None"): "write `None`",
    ("Result", "Ok"): "write `Ok(x)`",
    ("Result", "Err"): "write `Err(e)`",
    **dict.fromkeys((("String", "new"), ("String", "from")), 'write a string literal: `""`'),
}

_TO_INT = "write `text.parse_int()` or `x as Int`"
_TO_FLOAT = "write `text.parse_float()` or `x as Float`"
_TO_STRING = "write `x.to_string()` or `\"${x}\"`"
# Functions and values.
NAMES: dict[str, str] = {
    **dict.fromkeys(("int", "Int", "parseInt", "parse_int"), _TO_INT),
    **dict.fromkeys(("float", "Float", "parseFloat", "parse_float", "double"), _TO_FLOAT),
    **dict.fromkeys(("str", "string", "String", "toString", "to_string"), _TO_STRING),
    **dict.fromkeys(("bool", "Bool"), "write `x as Bool`"),
    **dict.fromkeys(("list", "List"), "write an array literal: `[]`"),
    **dict.fromkeys(("dict", "Dict"), "write a map literal: `{}`"),
    "range": "write `a..b`",
    **dict.fromkeys(("null", "undefined", "NULL", "None_", "Nil"), "write `nil`"),
    "True": "write `true`",
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


def everyday_type(name: str) -> str | None:
    """The help for a type written as elsewhere."""
    return f"write {TYPES[name]}" if name in TYPES else None
