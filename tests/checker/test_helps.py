"""What a message offers besides its sentence (L-4.1.5, the help columns of L-4.3 to L-4.7)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.hints import names
from concerto.compiler.hints.types import BIND_AND_ASK
from concerto.vm.builtins import METHODS
from concerto.vm.memory_steps import STEPS

MODEL = "model M { provider: offline } fn main() "
SCHEMA = "schema S { a: Int } " + MODEL

OPTIONAL = [
    (MODEL + '{ let r = M.execute("a"); print(r.text); }', "E2010", "add `?`, or use `match`"),
    (MODEL + '{ let r = M.execute("a"); print(r + "b"); }', "E2002", "add `?`, or use `match`"),
    (MODEL + '{ let r = M.execute("a"); r.text(); }', "E2011", "add `?`, or use `match`"),
    ("let o: Option<Int> = None; print(o + 1);", "E2002", "add `?`, write `x ?? 0` for a default, or `match`"),
    ("let o: Option<Int> = None; o.abs();", "E2011", "add `?`, write `x ?? 0` for a default, or `match`"),
    ("let n: Int? = nil; n.abs();", "E2011", f"write `x ?? 0` for a default, or {BIND_AND_ASK}"),
    ("let n: Int? = nil; print(n.x);", "E2010", f"write `x ?? 0` for a default, or {BIND_AND_ASK}"),
    ("let n: Int? = nil; n.clone();", "E2011", f"write `x ?? 0` for a default, or {BIND_AND_ASK}"),
]

PLACES = [
    ('println("{1} {0}", 7, 8);', "W0023", 'write `println("${8} ${7}")`'),
    ('println("{0} {0}", 7);', "W0023", 'write `println("${7} ${7}")`'),
    ('println("{} of {}", 7, 8, 9);', "W0023", 'write `println("${7} of ${8}", 9)`'),
    ('println("{} of {}", 7);', "W0023", 'write `println("${7} of ${…}")`'),
    (r'println("\u{41} {}", 7);', "W0023", r'write `println("\u{41} ${7}")`'),
    ('println("{1} {:>4} {}", 7, 8, 9);', "W0023", 'write `println(std::fmt::format("{} {:>4} {}", [8, 7, 8]), 9)`'),
    ('println("{1}", "x", "y");', "W0023", 'write `println(std::fmt::format("{}", ["y"]), "x")`'),
]

ELEMENTS = [
    ("let t = (); print(t.0);", "E2017", "an empty tuple has no elements"),
    ("let t = (); print(t[0]);", "E2017", "an empty tuple has no elements"),
    ("let t = (1,); print(t.1);", "E2017", "its only element is `.0`"),
    ("let t = (1, 2, 3); print(t[3]);", "E2017", "elements are `0` to `2`"),
    ("let t = (1, 2, 3); print(t.3);", "E2017", "elements are `.0` to `.2`"),
    ("let n = 1; print(n.0);", "E2017", "elements are those of tuples only"),
]

ARGUMENTS = "struct P<T> { x: T } impl<T> P<T> { fn new(x: T) -> P<T> { P { x: x } } } fn f<T>(x: T) -> T { x } fn main() "
TYPE_ARGUMENTS = [
    (ARGUMENTS + "{ P<Int, Int>::new(1); }", "E2028", "write `P<…>::new`"),
    (ARGUMENTS + "{ P::new<Int>(1); }", "E2028", "leave out the `<…>`"),
    (ARGUMENTS + "{ f<Int, Int>(1); }", "E2028", "write `f<T>`"),
]

COMPARED = "const LIMIT: Int = 4; fn main() "
REFUTABLE = [
    (COMPARED + "{ let LIMIT = 4; }", "E3002", "`LIMIT` is a constant, no new variable: use `match`, or another name"),
    (COMPARED + "{ let None = Some(3); }", "E3002", "`None` is a variant, no new variable: use `match`, or another name"),
    (COMPARED + "{ let 1 = 4; }", "E3002", "use `match`"),
]

HASHMAP = "fn main() { } hashmap h: HashMap<String, Int> = HashMap::new()"
STORES = [
    (HASHMAP + '.with_persistence(path: "x");', "E2007", 'write `.with_persistence("data.json")`'),
    (HASHMAP + '.store(name: "durable");', "E2007", 'write `.store("durable")`'),
]

EVERYDAY = [
    ("[1].length();", "E2011", "use `len()`"),
    ('print("a".size);', "E2010", "use `len()`"),
    ("let mut a = [1]; a.append(2);", "E2011", "use `push()`"),
    ("let mut a = [1]; a.add(2);", "E2011", "use `push()`"),
    ('let mut m = {"a": 1}; m.put("a", 2);', "E2011", "use `set()`"),
    ('{"a": 1}.items();', "E2011", "use `entries()`"),
    ('{"a": 1}.contains("a");', "E2011", "use `has()`"),
    ('{"a": 1}.has_key("a");', "E2011", "use `has()`"),
    ('"a".upper();', "E2011", "use `to_upper()`"),
    ('"a".lower();', "E2011", "use `to_lower()`"),
    ('"a".strip();', "E2011", "use `trim()`"),
    ("1.toString();", "E2011", "use `to_string()`"),
    ('"a".indexOf("b");', "E2011", "use `index_of()`"),
    ("[1].forEach(|x| x);", "E2011", "write `for x in xs { … }`"),
    ("[1].iter();", "E2011", "leave it out: `map`, `filter` and the others give arrays"),
    ("[1].skip(1);", "E2011", "write `[1][1..]`"),
    ("[1].take(1);", "E2011", "write `[1][..1]`"),
    ("[[1]].flatten();", "E2011", "use `flat_map()`"),
    ("[1].extend([2]);", "E2011", "use `concat()`"),
    ('"a".charAt(0);', "E2011", "use `get()`"),
    (
        "let mut a = [1]; a.sort().len();", "E2011",
        "`nil` is what calls without a result give; methods such as `sort` and `push` change the value they are called on",
    ),
    (MODEL + '{ M.ask("a"); }', "E2011", "use `execute()`"),
    (MODEL + '{ M.call("a"); }', "E2011", "use `execute()`"),
    (MODEL + '{ M.run("a"); }', "E2011", "use `execute()`"),
    (MODEL + '{ print(M.execute("a")?.content); }', "E2010", "use `text`"),
    (MODEL + '{ print(M.execute("a")?.text()); }', "E2011", "`text` is a field: drop the `()`"),
    ('{"a": 1}.frobnicate();', "E2011", "methods are: `clear`, `delete`, `entries`, `get`, `has`, `is_empty`, `keys`, `len`, …"),
    ("struct P { x: Int, y: Int } fn main() { print(P { x: 1, y: 2 }.frob); }", "E2010", "fields are: `x`, `y`"),
    ("model M { provider: offline, model: \"m\" } fn main() {}", "E4001", "use `base`"),
    (
        'fn f(@param("q") b: Int) { print(b); } fn main() { f(1); }', "E4009",
        "it belongs on: tool method, mcp method, parameter of one of these, parameter of a fn by a model, extern fn",
    ),
]

CALLED = [
    ("fn two() -> Int { 2 } fn main() { let k: Int = two; print(k); }", "E2001", "call it: `()`"),
    ("fn two() -> Int { 2 } fn main() { let k: String = two; print(k); }", "E2001", "convert it: `.to_string()` or `${…}`"),
    ("fn two() -> Int { 2 } fn main() { let k: Bool = two; print(k); }", "E2001", None),
]

NO_VALUE = [
    ("fn f() -> Int { 1; } fn main() { f(); }", "drop the `;` of the last expression"),
    ("fn f() -> Int { if true { 1 } else { 2; } } fn main() { f(); }", "drop the `;` of the last expression"),
    ('fn f() -> Int { "a"; } fn main() { f(); }', "end with a value or `return`"),
    ("fn f() -> Int { print(1); } fn main() { f(); }", "end with a value or `return`"),
    ("fn f() -> Int { let _x = 1; } fn main() { f(); }", "end with a value or `return`"),
    ("fn f(a: Bool) -> Int { if a { return 1; } } fn main() { f(true); }", "the `if` has no `else`: add `else { … }`, or a value behind it"),  # noqa: E501
    ("fn f(a: Bool) -> Int { if a { 1 } else if !a { 2 } } fn main() { f(true); }", "the `if` has no `else`: add `else { … }`, or a value behind it"),  # noqa: E501
]

IMMUTABLE = [
    ("for i in 0..3 { i = 2; }", "write `for mut i in …`"),
    ("for (a, _b) in [(1, 2)] { a = 2; }", "write `mut a` in the pattern"),
    ("match 1 { x => { x = 2; } }", "write `mut x` in the pattern"),
    ("fn f(n: Int) { n = 2; } fn main() { f(1); }", "copy it first: `let mut n = n;`"),
    ("let x = 1; x = 2;", "declare it `let mut x`"),
]

NIL = [
    ("fn g() {} fn main() { let s: String = g(); print(s); }", "E2001", "`g()` returns nothing"),
    ('fn f(_s: String) {} fn main() { f(print("a")); }', "E2009", '`print("a")` returns nothing'),
    ("let s: String = nil; print(s);", "E2001", "`nil` is a value of `String?`"),
    ("let s: String = (nil); print(s);", "E2001", "`nil` is a value of `String?`"),
    ("fn f() -> Int { while true { } } fn main() { f(); }", "E2023", "the loop has no value; end with a value or `return`"),
    ("fn f<T>(x: T) { let n: T? = None; print(n, x); } f(1);", "E2001", "write `nil` in place of `None`: a `T?` is the value itself or `nil`"),  # noqa: E501
    ('let m = {"a": 1}; print(m["a"] ?? 2);', "E2043", '`[…]` panics on a missing key; write `.get("a") ?? …`'),
    ("print(Ok(1) ?? 2);", "E2043", "use `.unwrap_or(…)`"),
    ("print(1 ?? 2);", "E2043", "remove `??`"),
]

DECLARATIONS = [
    (
        "model M { provider: opena } fn main() {}", "E4003",
        "did you mean `openai`? connections are: `openai`, `ollama`, `azure`, `google`, `groq`, `offline` and 10 more; "
        "declare it with `connect`",
    ),
    (
        'connect lab { provider: "offline" } model M { provider: lob } fn main() {}', "E4003",
        "did you mean `lab`? connections are: `lab`, `groq`, `vllm`, `xai`, `azure`, `google` and 11 more; "
        "declare it with `connect`",
    ),
    ("schema T { note: String? } fn main() {}", "E4020", "write `note?: String`"),
    (
        "schema T { a: Array<String?> } fn main() {}", "E4020",
        "use String, Int, Float, Bool, a string union, Array, Map<String, T>, a schema, or Any",
    ),
    ("memory m: Memory = Memory::new(max_messages: 3); fn main() {}", "E4502", "the largest number of messages is `max`"),
    (
        "memory m: Memory = Memory::new(3, max_tokens: 4000); fn main() {}", "E4502",
        "`.tokens(n)` sends at most n tokens, `.retain(tokens: n)` keeps at most n",
    ),
    ("memory m: Memory = Memory(20); fn main() {}", "E4501", "write `Memory::new()` or `Memory::new(20)`"),
    ("memory m: Memory = Memory::new(); fn main() { for x in m { print(x); } }", "E2015", "write `m.messages()`"),
    ("memory m: Memory = Memory::new(); fn main() { print(m[0]); }", "E2017", "write `m.messages()[…]`"),
    ("fn main() { print(len(5)); }", "E2009",
        "strings, bytes, arrays, maps, tuples, ranges, collections and stores have one"),
    ("let m = Memory(20); print(m);", "E4501", "write `Memory::new()` or `Memory::new(20)`"),
    (
        "memory m: Memory = Memory::new().per(u); model M { provider: offline, memory: m } fn main() {}", "E4505",
        "a field has no key: call `M.with(memory: m.key(u: …)).execute(…)`",
    ),
    (
        "memory m: Memory = Memory::new().per(u); fn main() { m.keys(u: 1); }", "E4505",
        "write `m.keys()`: the Map of each key; `.filter(|key| …)` keeps some of them",
    ),
    (
        MODEL + '{ let _ = M.execute("q", memory: nil)?; }', "E2007",
        "write `M.with(memory: log).execute(…)`, for an agent `A.with_memory(log).execute(…)`",
    ),
    (MODEL + '{ let _ = M.with_memory([1])?; }', "E4040", "give the name of a memory: `memory log: Memory = Memory::new();`"),
    (
        'memory m: Memory = Memory::new(2); m.append("system", "x"); fn main() {}', "W0451",
        "pin it, or keep it in the model's `system_prompt`",
    ),
]  # fmt: skip

FORMS = [
    ("enum E { A, B } fn main() { print(E.B); }", "E1001", "a variant is written `E::B`"),
    ("struct P { x: Int } fn main() { print(P(1)); }", "E1001", "write a literal: `P { x: … }`"),
    ("fn f<T>(x: T) -> Any { T } fn main() { f(1); }", "E1001", "name a value of it, such as a parameter of that type"),
    ("print(not(true));", "E1001", "logical not is `!`"),
    ("print(Map::new());", "E1010", "write a map literal: `{}`"),
    ('print(int("3"));', "E1001", "write `text.parse_int()` or `x as Int`"),
    ('print(Int("3"));', "E2016", "write `text.parse_int()` or `x as Int`"),
    ("fn f(_a: Int) {} fn main() { 1 |> f(2); }", "E2006", "the value before `|>` is the first argument"),
    ("fn f(_a: Int, _b: Int) {} fn main() { 1 |> f(); }", "E2006", "the value before `|>` is the first argument"),
    ("fn f(_a: Int, _b: Int = 1) {} fn main() { f(); }", "E2006", "it takes `(_a: Int, _b: Int = …)`"),
    ("fn f(_a: Int) {} fn main() { f(1, 2); }", "E2006", "it takes `(_a: Int)`"),
]

# What was written stands in the help, so that it can be pasted.
WRITTEN = [
    ('"a b".slice(1);', "E2011", 'write `"a b"[1..]`'),
    ('"a b".slice(1, 2);', "E2011", 'write `"a b"[1..2]`'),
    ('"a b".substring(1);', "E2006", "write `text[1..]`, or give the end too: `.substring(1, text.len())`"),
    ('"a b".split(" ", 1);', "E2006", 'it splits everywhere: write `.split(" ")`'),
    (
        '"a b".strip_prefix("a");', "E2011",
        'write `if "a b".starts_with("a") { "a b"["a".len()..] } else { "a b" }`',
    ),
    ('"a".rjust(5);', "E2011", 'write `std::fmt::pad_left("a", 5)`, or `std::fmt::format("{:>8}", ["a"])`'),
    ('let old = ["a"]; let _new = old + ["b"];', "E2002", 'write `old.concat(["b"])`'),
    ('let n = 3; let _line = "-" * n;', "E2002", 'write `"-".repeat(n)`'),
    ("let xs = [2, 1]; xs.sorted();", "E2011", "`sort` changes what it is called on: `let mut sorted = xs; sorted.sort();`"),
    ('let m = {"a": 1}; m.get_or("b", 2);', "E2011", 'write `m.get("b") ?? 2`'),
    ('println("a", sep: ", ");', "E2007", 'write `println([a, b].join(", "))`'),
    ('print("a", end: "");', "E2007", "leave it out: `print` writes no line end, `println` does"),
    ("std::io::flush();", "E1004", "leave it out: what is printed goes out at once"),
    ('let o: Option<String> = None; match o { "a" => {}, _ => {} };', "E3003", 'write `Some("a")`'),
    ("match (1,) { 5 => {}, _ => {} };", "E3003", "write `(a,)`"),
    ("match (1, 2, 3, 4, 5, 6, 7, 8, 9) { 5 => {}, _ => {} };", "E3003", "write `(a, b, c, d, e, f, g, h, i)`"),
    ('let ok: Bool = emit("approve", 1)?; println(ok);', "E2041", 'for the answer of the host write `await emit("approve", 1)?`'),
    (
        MODEL + '{ let _r = M.execute("a", temperature: 0.2); }', "E2007",
        "it is a field of the model: `model M { …, temperature: … }`",
    ),
    (
        "fn f(id: String) -> Result<Int, ToolError> { Err(id) } fn main() { println(f(\"a\")); }", "E2023",
        "make an error: `ToolError::new(…)`",
    ),
    ("let xs: List<Int> = []; println(xs);", "E1002", "write `Array<Int>`"),
    ("fn f(x: Optional<Int>) { println(x); } fn main() { f(nil); }", "E1002", "write `Int?` or `Option<Int>`"),
]
CASES = [*OPTIONAL, *PLACES, *ELEMENTS, *TYPE_ARGUMENTS, *REFUTABLE, *STORES]
CASES += [*CALLED, *EVERYDAY, *NIL, *DECLARATIONS, *FORMS, *WRITTEN]


@pytest.mark.parametrize(("text", "code", "help"), CASES)
def test_help(text: str, code: str, help: str | None, snippet: Any) -> None:
    assert [(d.code, d.help) for d in snippet(text).diagnostics] == [(code, help)]


@pytest.mark.parametrize(("text", "help"), NO_VALUE)
def test_no_value_on_some_path(text: str, help: str, snippet: Any) -> None:
    assert [(d.code, d.help) for d in snippet(text).diagnostics if d.code == "E2022"] == [("E2022", help)]


@pytest.mark.parametrize(("text", "help"), IMMUTABLE)
def test_how_to_make_it_mutable(text: str, help: str, snippet: Any) -> None:
    assert [(d.code, d.help) for d in snippet(text).diagnostics] == [("E2034", help)]


@pytest.mark.parametrize("name", sorted(names.TYPES))
def test_types_of_other_languages(name: str, snippet: Any) -> None:
    if name == "nil":
        return
    helps = [d.help for d in snippet(f"let x: {name} = 1; print(x);").diagnostics]
    assert helps == [f"write {names.TYPES[name]}"]


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("get_history", "messages"), ("read", "messages"), ("get_recent", "last"), ("add", "append"), ("add_many", "append_all"),
        ("extend", "append_all"), ("store", "append"), ("to_dict", "to_map"),
    ],
)
def test_methods_of_other_memories(elsewhere: str, here: str, snippet: Any) -> None:
    helps = [d.help for d in snippet(f"memory log: Memory = Memory::new(); fn main() {{ log.{elsewhere}(); }}").diagnostics]
    assert helps == [f"use `{here}()`"]


@pytest.mark.parametrize("step", sorted(name for name, step in STEPS.items() if step.arguments and step.bare is None))
def test_a_step_without_arguments_is_shown_with_some_that_it_takes(step: str, snippet: Any) -> None:
    found = [d for d in snippet(f"memory log: Memory = Memory::new().{step}(); fn main() {{}}").diagnostics if d.code == "E2006"]
    assert [d.help for d in found] == [STEPS[step].example]
    for example in STEPS[step].example.split(", ."):
        chain = f"Memory::new().{example.removeprefix('.')}"
        declared = f"memory log: Memory = {chain}; model M {{ provider: offline }} fn main() {{}}"
        assert not {d.code for d in snippet(declared).diagnostics} & {"E2006", "E4004", "E4502", "E1001"}, example


def test_all_events_of_a_memory_are_listed(snippet: Any) -> None:
    (found,) = snippet('memory log: Memory = Memory::new().on(Zzz, |e| emit("e", e)); fn main() {}').diagnostics
    assert "`LearnFailed`" in found.help and "…" not in found.help


def test_every_method_offered_exists() -> None:
    known = {row.name for row in METHODS.values()}
    assert {name for names in names.METHODS.values() for name in names} <= known


@pytest.mark.parametrize("text", ['Err("x")', 'return Err("x");'])
def test_a_text_where_an_error_is_expected(text: str, snippet: Any) -> None:
    (found,) = snippet(f"fn f() -> Result<Int, Error> {{ {text} }} fn main() {{ let _ = f(); }}").diagnostics
    assert (found.code, found.help) == ("E2023", "use `throw`, or make an error: `RuntimeError::new(…)`")


def test_a_missing_prompt_is_named(snippet: Any) -> None:
    (found,) = snippet(MODEL + "{ let _ = M.execute(); }").diagnostics
    assert found.code == "E2006" and found.message.endswith("missing `prompt`")


def test_a_duplicate_schema_field_is_reported_once(expect: Any) -> None:
    expect("E4021", "schema T { a?: Int, «a: String? } fn main() {}")
    expect("E4020 E4021", "schema T { a?: «Int?, «a: Int } fn main() {}")


@pytest.mark.parametrize(
    ("pattern", "codes"),
    [
        ("MaxRetriesExceeded { attempts: _, last_error: _, raw_response: _ }", []),
        ("MaxRetriesExceeded { attempts: _, .. }", []),
        ("MaxRetriesExceeded { attempts: _ }", ["E3006"]),
    ],
)
def test_a_pattern_names_the_fields_of_an_error_variant(pattern: str, codes: list[str], snippet: Any) -> None:
    arms = f"Ok(_) => 1, Err(SchemaError::{pattern}) => 2, Err(_) => 3"
    checked = snippet(SCHEMA + f'{{ match M.execute_with_schema<S>("a") {{ {arms} }}; }}')
    assert [d.code for d in checked.diagnostics] == codes
    assert all("`last_error`, `raw_response` of" in d.message for d in checked.diagnostics)


def test_a_memory_has_the_slots_of_a_context(expect: Any) -> None:
    expect("E4508", "fn f(m: Memory<«Int>) {}")


def test_unused_imports_are_held_back_while_names_are_unknown(snippet: Any) -> None:
    text = "use std::math; fn main() {{ print({}1); }}"
    assert [d.code for d in snippet(text.format("")).diagnostics] == ["W0002"]
    assert [d.code for d in snippet(text.format("foo, ")).diagnostics] == ["E1001"]
