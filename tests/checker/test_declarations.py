"""Connections, models, schemas, memories, calls on them (O-1 to O-3, O-11)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from concerto.compiler.checker.constants import Fault, size_of
from concerto.compiler.checker.declaration_checks import CHECKS, DeclarationChecks
from concerto.compiler.checker.declarations import _Values, components, topological_order
from concerto.compiler.checker.state import Checker
from concerto.compiler.pipeline import compile_source
from concerto.compiler.source import Span
from concerto.compiler.symbols import ConnectionSymbol, LedgerSymbol, MemorySymbol, ModelSymbol, Symbol
from concerto.compiler.syntax import ast
from concerto.vm import values as vm

MAIN = " fn main() {}"
MODEL = "model M { provider: offline } schema S { n: Int } memory log: Memory = Memory::new(); "

CASES = [
    # connections
    ("", 'connect c { provider: "custom", base_url: "http://u", default_model: "m", headers: {"A": "b", "C": env("N")} }' + MAIN),
    ("E4001", 'connect c { provider: "openai", «retries: 3 }' + MAIN),
    ("E4001", 'connect c { provider: "openai", «provider: "openai" }' + MAIN),
    ("E4001", 'connect c { provider: "openai", retry: { «most: 2 } }' + MAIN),
    # of two values the first that was not reported counts, so that the other is checked
    ("E4004 E4001 E4001", 'connect c { provider: "openai", retry: «3, «retry: { «most: 2 } }' + MAIN),
    ("E4002", 'connect «c { base_url: "http://u" }' + MAIN),
    ("E4002", 'connect «c { provider: "custom" }' + MAIN),
    ("", 'connect openai { default_model: "m" } model M { provider: openai }' + MAIN),
    ("E4004", 'connect c { provider: «"opnai" }' + MAIN),
    ("E4004", 'connect c { provider: "openai", timeout: «0 }' + MAIN),
    ("E4004", 'connect c { provider: "openai", models: «[1] }' + MAIN),
    ("E4004", 'connect c { provider: "openai", base_url: «f() } fn f() -> String { "" }' + MAIN),
    ("E4004", 'connect c { provider: "openai", rate_limit: «3 }' + MAIN),
    ("E4005", 'connect c { provider: "openai", api_key: «"sk-123" }' + MAIN),
    ("E4006", 'connect c { provider: "anthropic", «organization: "x" }' + MAIN),
    ("E4006", 'connect c { provider: "openai", «replies: [] }' + MAIN),
    # models
    ("E4001", 'model M { provider: offline, «temprature: 1 }' + MAIN),
    ("E4001", 'model M { provider: offline, top_p: 1, «top_p: 1 }' + MAIN),
    ("E4002", 'model «M { base: "x" }' + MAIN),
    ("E4003", 'model M { provider: «nowhere, base: "x" }' + MAIN),
    ("E4004", 'model M { provider: «1, base: "x" }' + MAIN),
    ("E4004", "model M { provider: offline, temperature: «3 }" + MAIN),
    ("E4004", "model M { provider: offline, max_tokens: «0 }" + MAIN),
    ("E4004", "model M { provider: offline, system_prompt: «3 }" + MAIN),
    ("E4004", "model M { provider: offline, memory: «3 }" + MAIN),
    ("E4004", 'model M { provider: offline, retry_policy: { backoff: «"x" } }' + MAIN),
    ("", "model M { provider: offline, temperature: f() } fn f() -> Float { 1 }" + MAIN),
    ("E4006", 'model M { provider: openai, base: "x", stop_sequences: «["a"] }' + MAIN),
    ("", 'connect c { provider: "openai", api: "chat" } model M { provider: c, base: "x", stop_sequences: ["a"] }' + MAIN),
    ("", 'connect c { provider: "openai", unsupported: "drop" } model M { provider: c, base: "x", stop_sequences: [] }' + MAIN),
    ("E4007", "model «M { provider: openai }" + MAIN),
    # decorators
    ("E4001", "@«foo model M { provider: offline }" + MAIN),
    ("E4001", "@retry(«wait: 1) model M { provider: offline }" + MAIN),
    ("E4009", "@retry «@retry model M { provider: offline }" + MAIN),
    ("E4009", "«@timeout model M { provider: offline }" + MAIN),
    ("E4009", "@timeout(«0) model M { provider: offline }" + MAIN),
    ("E4009", '@cache(ttl_seconds: «"a") model M { provider: offline }' + MAIN),
    ("E4009", "«@cache fn f() {}" + MAIN),
    ("E4009", "«@partial model M { provider: offline }" + MAIN),
    ("", '@retry(max: 2, retry_on: ["server"]) @timeout(1.5) @log(channel: "c") @cache model M { provider: offline }' + MAIN),
    # schemas
    ("E4020", "schema S { f: «fn(Int) }" + MAIN),
    ("E4020", "schema S { f: «(Int, Int) }" + MAIN),
    ("E4020", "schema S { f: «Map<Int, String> }" + MAIN),
    ("E4020", "schema «S { s: S }" + MAIN),
    ("", "schema S { s?: S, t: Array<S>, u: Map<String, S>, v: Any, w: Option<Int>, x: E } enum E { A }" + MAIN),
    ("E4021", "schema S { a: Int, «a: Int }" + MAIN),
    ("E4022", MODEL + 'fn main() { M.execute_with_schema<«Prompt>("x")?; }'),
    ("E4022", 'parse_schema<«Prompt>("x")?;'),
    ("E4023", 'schema S { a: Int = «"x" }' + MAIN),
    ("E4023", "schema S { a: Int = «f() } fn f() -> Int { 1 }" + MAIN),
    ("E4009", "schema S { a: Int, «@coerce b: Int }" + MAIN),
    ("E4009", "schema S { «@describe a: Int }" + MAIN),
    # memories
    ("", "const N: Int = 3; memory a: Memory = Memory::new(N); memory b: Memory = Memory::new(max: 2);" + MAIN),
    ("E4004", "memory m: Memory = Memory::new(«0);" + MAIN),
    ("E4004", 'memory m: Memory = Memory::new(«"x");' + MAIN),
    ("", 'memory m: Memory = Memory::new(len("abc"));' + MAIN),
    ("E4519", 'memory m: Memory = Memory::new(«n()); fn n() -> Int { println("n"); 3 }' + MAIN),
    ("E4520", "memory m: Memory = Memory::new(«|k| 3);" + MAIN),
    ("E2001", "memory m: «Int = Memory::new();" + MAIN),
    ("E4501", "memory m: Memory = «3;" + MAIN),
    ("", "let _m = Memory::new();"),
    ("E4501", "memory m: Memory = «Memory::from([]);" + MAIN),
    ("E4501", MODEL + "fn f() -> Memory { «Memory::of(log) }" + MAIN),
    ("E4501", "let _m = «Memory::new;"),
    ("E4502", "let _m = Memory::new().«wndow(3);"),
    ("E4503", "let _m = Memory::new(3).«retain(4);"),
    ("E4521", 'let _m = Memory::new().«store("durable");'),
    ("E4522", "let n = 3; let _m = Memory::new().redact(|s| if s.len() > «n { s } else { s });"),
    ("E4004", "let _m = Memory::new(«0);"),
    ("E4501", MODEL + "log.«clear();" + MAIN),
    ("E4501", "«main.append(1);" + MAIN),
    ("E4042", MODEL + 'log.append(«"robot", "x");' + MAIN),
    ("E4042", MODEL + 'fn main() { log.append(«"robot", "x"); }'),
    ("W0451", 'memory m: Memory = Memory::new(2); m.append(«"system", "x");' + MAIN),
    ("E2006", MODEL + 'log.«append("user");' + MAIN),
    # hashmaps and ledgers
    ("E2001", "hashmap h: «Int = HashMap::new();" + MAIN),
    ("E2001", "ledger l: «Memory = Ledger::new();" + MAIN),
    ("E2019", "hashmap h: HashMap<«Float, Int> = HashMap::new();" + MAIN),
    ("E4004", "hashmap h: HashMap<String, Int> = «3;" + MAIN),
    ("E4004", "ledger l: Ledger = «3;" + MAIN),
    ("E4004", "let _h = «HashMap::new();"),
    ("E4004", 'fn f() -> String { "a" } hashmap h: HashMap<String, Int> = HashMap::new().with_persistence(«f());' + MAIN),
    ("E4004", 'hashmap h: «HashMap<Any, Int> = HashMap::new().with_persistence("a");' + MAIN),
    ("E4020", 'hashmap h: «HashMap<Int, fn(Int)> = HashMap::new().with_persistence("a");' + MAIN),
    ("E2006", "hashmap h: HashMap<String, Int> = HashMap::new().«with_persistence();" + MAIN),
    ("E4041", 'hashmap h: HashMap<Int, Int> = HashMap::new(); fn main() { h.«scope("a").set(1, 1); }'),
    ("E2009", 'hashmap h: HashMap<String, Int> = HashMap::new(); h.set("a", «"b");' + MAIN),
    ("E4501", "hashmap h: HashMap<String, Int> = HashMap::new(); «main.set(1, 2);" + MAIN),
    ("", 'hashmap h: HashMapRef = HashMap::new(); ledger l: LedgerRef = Ledger::new(); l.insert("a", [], "b");' + MAIN),
    # calls
    ("E4040", MODEL + 'fn main() { M.with_memory(«3).execute("x")?; }'),
    ("E2009", MODEL + 'fn main() { M.with_memory(log, auto: «1).execute("x")?; }'),
    ("E2009", MODEL + "fn main() { M.execute(«3)?; }"),
    ("E2029", MODEL + 'fn main() { M.«execute_with_schema("x")?; }'),
    ("W0003", MODEL + 'fn main() { «M.execute("x"); }'),
    ("", MODEL + 'fn main() { M.with_memory(nil).execute(Prompt::new("x"))?; }'),
    ("", MODEL + 'fn main() { let x: S = M.execute_with_schema<S>("x")?; print(x.n); }'),
    ("", MODEL + 'fn main() { let r = "x" |> M.execute()?; print(r.text, r.cost ?? 0.0, "${r}", r.data.a ?? 1); log.clear(); }'),
    ("E4008", MODEL + "impl M { fn «execute(self) { } } fn main() { }"),
    # emits
    ("E4080", 'emit<Int>("a", «"x");'),
    ("", 'emit("a"); emit("a", 1); emit<Float>("a", 1); 1 |> emit("c"); emit("a", payload: 2);'),
    ("E2009", "emit(«1, 2);"),
    # tasks
    ("E2045", "let _t = spawn «main; ()"),
    ("", "fn f() { print(await 1); } fn main() { f(); }"),
    ("E4050", "loop { parallel for i in [1] { print(i); «break; } }"),
    ("W0404", "let mut x = 1; parallel for i in [1] { «x = i; } print(x);"),
    # validators
    ("E4024", "@validate(«fn(n: Int) -> Result<Bool, String> { Ok(n > 1) }) schema V { a: Int } fn main() { }"),
    ("E4009 E4009", "«@validate(f: 1) schema V { a: Int } «@coerce schema V; fn main() { }"),
    ("E1002", "schema «V; fn main() { }"),
    ("E2007", 'emit("a", 1, «timeout_ms: 5);'),
    ("E2009", 'let _ = await emit("a", 1, timeout_ms: «"x");'),
    ("E4080", 'let _ = await emit<Int>("a", «"x");'),
    ("", 'let x: Int = await emit("a")?; print(x, emit<Int>("a", payload: 1, timeout_ms: 5).await);'),
]


@pytest.mark.parametrize(("codes", "text"), CASES)
def test_declarations(codes: str, text: str, expect: Callable[[str, str], None]) -> None:
    expect(codes, text)


def test_a_connection_is_held_as_plain_data(snippet: Any) -> None:
    checked = snippet(
        'connect c { provider: "custom", base_url: "http://" + "x", api_key: env("K"), headers: {"A": "b", "C": env("N")}, '
        'retry: { max_attempts: 2 }, timeout: 3, models: {"s": "small"} }' + MAIN
    )
    (connection,) = checked.checked.of(ConnectionSymbol)
    assert connection.fields == {
        "provider": "custom", "base_url": "http://x", "api_key_env": "K", "headers": {"A": "b", "C": {"env": "N"}},
        "retry": {"max_attempts": 2}, "timeout": 3.0, "models": {"s": "small"},
    }  # fmt: skip


def test_a_model_knows_connection_memory_and_decorators(snippet: Any) -> None:
    text = "memory m: Memory = Memory::new(); @retry(max: 2) @log model M { provider: offline, memory: m, temperature: 1 }"
    checked = snippet(text + MAIN)
    (model,) = checked.checked.of(ModelSymbol)
    assert model.connection == "offline"
    assert model.memories == [checked.checked.of(MemorySymbol)[0]]
    assert model.decorators == [("retry", {"max": 2}), ("log", {})]
    assert list(model.fields) == ["provider", "memory", "temperature"]


def test_schema_fields_modes_and_descriptions(snippet: Any) -> None:
    checked = snippet(
        "@partial schema S {\n  @coerce\n  /// first\n  a: Int,\n  @describe(\"second\") b?: String,\n  c: Float = 1\n}" + MAIN
    )
    (schema,) = checked.checked.schemas
    assert (schema.partial, schema.coerce) == (True, True)
    assert [(n, str(t), d is not None, o) for n, t, d, o in schema.fields] == [
        ("a", "Option<Int>", False, True), ("b", "Option<String>", False, True), ("c", "Float", True, False),
    ]  # fmt: skip
    assert schema.descriptions == {"a": "first", "b": "second"}


def test_memory_bounds(snippet: Any) -> None:
    memories = "memory a: Memory = Memory::new(); memory b: Memory = Memory::new(20); memory c: Memory = Memory::new(max: N);"
    checked = snippet("const N: Int = 2 * 3; " + memories + MAIN)
    assert [m.max_messages for m in checked.checked.of(MemorySymbol)] == [None, 20, 6]


CONSTANTS = [
    ("Int", "7 / -2", -3),
    ("Int", "7 % -2", 1),
    ("Int", "2 ** 10", 1024),
    ("Float", "1", 1.0),
    ("Float", "7 / 2.0", 3.5),
    ("Bool", "1 < 2 && !false", True),
    ("String", '"a" + "b${1 + 1}${true}${nil}${4.0}"', "ab2truenil4"),
    ("Array<Int>", "[1, 2 * 3]", [1, 6]),
    ("Map<String, Int>", "{a: 1, \"b\": 2}", {"a": 1, "b": 2}),
    ("(Int, String)", '(1, "x")', (1, "x")),
    ("Int", '"12" as Int', 12),
    ("Int", "2.9 as Int", 2),
    ("Int", "OTHER + 1", 42),
    ("Int", "-9223372036854775808", -(2**63)),
]


@pytest.mark.parametrize(("type_", "value", "folded"), CONSTANTS)
def test_constants_are_folded(type_: str, value: str, folded: object, snippet: Any) -> None:
    checked = snippet(f"const C: {type_} = {value}; const OTHER: Int = 41; fn main() {{ print(C, OTHER); }}")
    assert not checked.diagnostics
    constant = next(c for c in checked.checked.consts if c.name == "C")
    assert constant.value == folded
    assert type(constant.value) is type(folded)


def test_items_stand_in_source_order_with_nested_ones(snippet: Any) -> None:
    checked = snippet("fn b() { fn a() {} a(); } fn main() { b(); struct S { x: Int } print(S { x: 1 }); } struct T {}")
    assert [f.name for f in checked.checked.functions] == ["b", "a", "main"]
    assert [s.name for s in checked.checked.structs] == ["S", "T"]
    assert checked.checked.main is checked.function("main")


@pytest.mark.parametrize(("fields", "shown", "more"), [(20, 20, False), (21, 20, True), (300, 20, True)])
def test_a_literal_names_the_first_fields_that_it_lacks(fields: int, shown: int, more: bool) -> None:
    """A list of all in many literals would be as long as the square of the program (G-5.7)."""
    declared = ", ".join(f"f{i}: Int" for i in range(fields))
    source = f"struct S {{ {declared} }}\nfn main() {{ let _ = S {{ }}; }}\n"
    (found,) = compile_source(source.encode(), "main.conc").diagnostics.found
    assert found.code == "E2012" and found.help is not None
    for text in (found.message, found.help):
        assert f"f{shown - 1}" in text and f"f{shown}" not in text
    assert found.message.endswith(", …") is more


def test_constants_may_use_up_their_room() -> None:
    """Exactly as much as there is (G-5.10), and not one value more."""
    room = SimpleNamespace(constant_room=3)
    values = _Values(cast(Checker, room))
    at = ast.NilLiteral(Span("main.conc", 0, 1))
    values.spend(at, 1)
    values.charge(at, 7)
    values.spend(at, 1)
    with pytest.raises(Fault):
        values.spend(at, 1)


@pytest.mark.parametrize(
    ("value", "size"),
    [(1, 1), ("x" * 32, 3), ([1, [2]], 4), ({"a": 1}, 3), (vm.Some([1, 2]), 4), (vm.Ok(vm.Err("x" * 16)), 4), ((vm.NONE,), 2)],
)
def test_how_many_values_a_constant_is_made_of(value: object, size: int) -> None:
    assert size_of(value, 100) == size_of(value, size) == size and size_of(value, size - 1) == size


def test_a_declaration_comes_after_those_it_is_made_of() -> None:
    made_of = {"a": ["b", "c"], "b": ["d"], "c": ["b"], "d": ["b"], "e": ["a", "e"]}
    assert list(components(made_of, lambda name: list(made_of[name]))) == [["b", "d"], ["c"], ["a"], ["e"]]
    assert list(topological_order("edcba", lambda name: list(made_of[name]))) == ["d", "b", "c", "a", "e"]
    long = list(range(5_000))
    assert list(topological_order(long, lambda at: [at + 1] if at + 1 < len(long) else [])) == long[::-1]


def codes(source: str) -> list[str]:
    return [found.code for found in compile_source(source.encode(), "main.conc").diagnostics.found]


@pytest.mark.parametrize(("last", "expected"), [("retain(20)", set()), ("like(m0)", {"E4501"})])
def test_memories_take_over_from_one_another_in_a_long_row(last: str, expected: set[str]) -> None:
    rows = [f"memory m{i}: Memory = Memory::new().like(m{i + 1});\n" for i in range(1_000)]
    assert set(codes("".join(rows) + f"memory m1000: Memory = Memory::new().{last};\nfn main() {{ }}\n")) == expected


def test_views_of_one_another_in_a_long_row() -> None:
    rows = [f"memory m{i}: Memory = Memory::of(m{i + 1});\n" for i in range(600)]
    assert codes("".join(rows) + "memory m600: Memory = Memory::new();\nfn main() { }\n") == []
    assert set(codes("".join(rows) + "memory m600: Memory = Memory::of(m0);\nfn main() { }\n")) == {"E4511"}


def test_what_leads_into_a_circle_is_not_reported_again() -> None:
    rows = [f"const K{i}: Int = K{i + 1};\n" for i in range(3_000)]
    assert codes("".join(rows) + "const K3000: Int = K3000;\nfn main() { }\n") == ["E2032"]


def test_a_declaration_that_nests_too_deeply_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(c: Checker, symbol: Symbol) -> None:
        raise RecursionError

    monkeypatch.setitem(CHECKS, LedgerSymbol, DeclarationChecks(values=check))
    (found,) = compile_source(b"fn main() { }\nledger kept: Ledger = Ledger::new();\n", "main.conc").diagnostics.found
    assert (found.code, found.span.start) == ("E0114", 21)
    assert "`kept`" in found.message and found.help == "split it up"


def test_a_long_circle_is_shown_with_its_gap() -> None:
    source = "".join(f"model M{i} {{ provider: offline, fallback: [M{(i + 1) % 60}] }}\n" for i in range(60)) + "fn main() {}"
    (found,) = compile_source(source.encode(), "main.conc").diagnostics.found
    assert found.code == "E4043" and found.message.count(" to ") == 20 and "`M8` to … to `M50`" in found.message


def test_models_in_several_circles_are_reported_once() -> None:
    model = 'model {} {{ provider: openai, base: "m", fallback: [{}] }}\n'
    source = "".join(model.format(name, others) for name, others in (("A", "B, C"), ("B", "A"), ("C", "A, B"), ("D", "A")))
    (found,) = compile_source(f"{source}fn main() {{ }}\n".encode(), "main.conc").diagnostics.found
    assert found.code == "E4043" and "`C` to `A` to `C`" in found.message


def test_a_key_type_that_is_unknown_is_reported_once(expect: Any) -> None:
    expect("E1002", 'hashmap e: HashMap<«Nope, Int> = HashMap::new().store("durable"); fn main() { e.clear(); }')


def test_a_clause_catches_a_generic_type_whatever_its_arguments_are(expect: Any) -> None:
    source = "struct W<T> { v: T } fn f() -> Result<Int, W<String>> { Err(W { v: \"x\" }) } fn main() { print(try { f()? }"
    expect("W0004", source + " catch W<Int>(_e) { 1 } catch «W<String>(_e) { 2 }); }")
