"""A check with a cache gives what a check without one gives, whatever has been checked before."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from concerto.compiler.checker import exhaustiveness, program, state
from concerto.compiler.diagnostics import Diagnostic
from concerto.compiler.incremental import CheckCache
from concerto.compiler.manifest import Manifest
from concerto.compiler.pipeline import check_source

from .edits import Files, edited, example_programs, joined_programs, suite_programs


def checked(
    files: Mapping[str, str], root: str, cache: CheckCache | None, manifest: Manifest | None = None
) -> list[Diagnostic]:
    def read(name: str) -> bytes | None:
        return files[name].encode("utf-8", "surrogatepass") if name in files else None

    data = read(root)
    assert data is not None
    return check_source(data, root, read, manifest, cache).diagnostics.ordered()


class Counting(CheckCache):
    """A cache that knows which files had no bodies in its last check, and how many in all."""

    def __init__(self) -> None:
        super().__init__()
        self.last: set[str] = set()
        self.total = 0

    def _valid_records(self, *arguments: Any) -> Any:
        records = super()._valid_records(*arguments)
        self.last = set(records)
        self.total += len(records)
        return records


# What the bodies of a file may depend on, one case for each.


class Case(NamedTuple):
    """A program, an edit, and the codes before and after it. `root` is the root of the first checks."""

    files: Files
    edit: Files
    before: set[str]
    after: set[str]
    root: str = "main.conc"


MODELS = """pub memory log: Memory = Memory::new().on_conflict(Reject);
model A { provider: openai, base: "m", memory: log }
model B { provider: openai, base: "m" }
pub async fn one() -> Result<Nil, Error> { A.execute("1")?; Ok(nil) }
"""
SERVER = 'mcp S {{ transport: "stdio", command: "x", fn {}(k: Int) -> Result<Int, ToolError>; }}'
MOCK = """model M {{ provider: openai, base: "m" }}
@test("x")
fn t() {{ mock M {{ tool_calls: [{{ tool: "{}", arguments: {{ k: 4 }} }}], response: "end" }} M.execute("x")?; }}
"""
TOOL = 'tool T {{ description: "t", @describe("d") @param("k", "k") pub fn {}(self, k: Int) -> Int {{ k }} }}'
SLOT = """context C { session { mut xs: Array<Int> = [] } }
memory m: Memory = Memory::new().context(C);
pub fn go() { m.xs.sort_by(|x, y| a::order(x, y)); }
"""
CASES = {
    "its own text": Case(
        {"main.conc": "mod a;\nfn main() { a::f(); }", "a.conc": "pub fn f() { let x = 1; println(x); }"},
        {"a.conc": 'pub fn f() { let x: Int = ""; println(x); }'}, set(), {"E2001"},
    ),
    "a signature that it calls": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { b::f(); }", "a.conc": "pub fn g() -> Int { 1 }",
            "b.conc": "pub fn f() { let x: Int = crate::a::g(); println(x); }",
        },
        {"a.conc": 'pub fn g() -> String { "" }'}, set(), {"E2001"},
    ),
    "a type behind a signature": Case(
        {
            "main.conc": "mod a;\nmod b;\nmod c;\nfn main() { c::f(); }", "a.conc": "pub struct P { pub n: Int }",
            "b.conc": "use crate::a::P;\npub fn g() -> P { P { n: 1 } }",
            "c.conc": "pub fn f() { let x: Int = b::g().n; println(x); }",
        },
        {"a.conc": "pub struct P { pub n: String }"}, set(), {"E2001"},
    ),
    "a constant": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { b::f(1); }", "a.conc": "pub const K: Int = 1;",
            "b.conc": "use crate::a::K;\npub fn f(x: Int) { match x { K => {}, 2 => {}, _ => {} } }",
        },
        {"a.conc": "pub const K: Int = 2;"}, set(), {"W0004"},
    ),
    "an impl that it does not name": Case(
        {
            "main.conc": "mod a;\nmod b;\nmod c;\nfn main() { b::f(); }", "a.conc": "pub struct P { pub n: Int }",
            "b.conc": "use a::P;\npub fn f() { let p = P { n: 1 }; let x: Int = p.m(); println(x); }",
            "c.conc": "use a::P;\nimpl P { pub fn m(self) -> Int { self.n } }",
        },
        {"c.conc": 'use a::P;\nimpl P { pub fn m(self) -> String { "" } }'}, set(), {"E2001"},
    ),
    "a server that it does not name": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() {}", "a.conc": SERVER.format("prompts"),
            "b.conc": "pub fn f(s: McpRef) -> Int { let n: Int = s.prompts(); n }",
        },
        {"a.conc": SERVER.format("other")}, set(), {"E2001"},
    ),
    "whether it is the root": Case(
        {
            "main.conc": "fn main() { a::g(); }",
            "a.conc": 'fn main() { std::fs::read_file("x")?; a::g(); }\npub fn g() { }',
        },
        {}, set(), {"E3014"},
        "a.conc",
    ),
    "a parse of an enum that another body names": Case(
        {
            "main.conc": "mod a;\nmod b;\nmod e;\nfn main() { }",
            "a.conc": 'pub fn f() { println(crate::e::E::parse("Red")); }\npub fn g() { }',
            "b.conc": "use crate::e::E;\npub fn f() { println(E::Red); }", "e.conc": "pub enum E { Red, Green }",
        },
        {"b.conc": 'use crate::e::E;\npub fn f() { println(E::Red.parse("Red")); }'}, set(), {"E2011"},
    ),
    "whether another module has its name": Case(
        {
            "main.conc": "mod a { }\nmod a;\nmod b;\nfn main() { }", "b.conc": "pub fn f() { }",
            "a.conc": 'pub fn f() { let x: Int = ""; println(x); }',
        },
        {"main.conc": "mod a;\nmod b;\nfn main() { }"}, {"E1003"}, {"E2001"},
    ),
    "a signature of a module of the project root": Case(
        {
            "main.conc": "fn main() { a::f(); }", "a.conc": "pub fn f() { let x: Int = b::g(); println(x); }",
            "b.conc": "pub fn g() -> Int { 1 }",
        },
        {"b.conc": 'pub fn g() -> String { "" }'}, set(), {"E2001"},
    ),
    "names that a help proposes": Case(
        {"main.conc": "mod a;\nmod b;\nfn main() { }", "a.conc": "pub fn f() { helper(); }", "b.conc": "pub fn g() { }"},
        {"b.conc": "pub fn helper() { }"}, {"E1001"}, {"E1001"},
    ),
    "the names of memories in bodies": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { }",
            "a.conc": "pub fn f() { let m = Memory::new(); println(m.len()); }\npub fn g() { }",
            "b.conc": 'pub memory n: Memory = Memory::new().was("old");',
        },
        {"b.conc": 'pub memory n: Memory = Memory::new().was("f#1");'}, set(), {"E4516"},
    ),
    "its clauses": Case(
        {
            "main.conc": "mod a;\nfn main() { }",
            "a.conc": "context C { session { mut n: Int = 0 } }\nmemory m: Memory = Memory::new().context(C);\n"
            "pub fn f() reads m.n { println(m.n); }\npub fn g() { }",
        },
        {"main.conc": "mod a;\nfn main() { println(1); }"}, set(), set(),
    ),
    "a pipeline whose output it asks for": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { }", "a.conc": "pub fn f() { println(b::P.run(1)); }\npub fn g() { }",
            "b.conc": "pub pipeline P { stage one(x: Int) -> Int { std::fs::read_file(\"x\"); x } }",
        },
        {"b.conc": "// a comment\npub pipeline P { stage one(x: Int) -> Int { std::fs::read_file(\"x\"); x } }"},
        {"W0003"}, {"W0003"},
    ),
    "a function of the root": Case(
        {
            "main.conc": "mod a;\npub fn g() -> Int { 1 }\nfn main() { }",
            "a.conc": "pub fn f() { let x: Int = crate::g(); println(x); }",
        },
        {"main.conc": 'mod a;\npub fn g() -> String { "" }\nfn main() { }'}, set(), {"E2001"},
    ),
    "a function of the module around it": Case(
        {
            "main.conc": "mod a;\nfn main() { }", "a.conc": "mod b;\nfn g() -> Int { 1 }",
            "b.conc": "pub fn f() { let x: Int = super::g(); println(x); }",
        },
        {"a.conc": 'mod b;\nfn g() -> String { "" }'}, set(), {"E2001"},
    ),
    "a module inside a file": Case(
        {
            "main.conc": "mod a;\nmod inner { pub fn g() -> Int { 1 } }\nfn main() { }",
            "a.conc": "pub fn f() { let x: Int = inner::g(); println(x); }",
        },
        {"main.conc": 'mod a;\nmod inner { pub fn g() -> String { "" } }\nfn main() { }'}, set(), {"E2001"},
    ),
    "a module that appears": Case(
        {
            "main.conc": "mod a;\nfn main() { }",
            "a.conc": "pub fn f() { println(json::g()); }\nmod json { pub fn g() -> Int { 1 } }",
        },
        {"main.conc": "mod a;\nmod json;\nfn main() { }", "json.conc": "pub fn g() { }"}, set(), set(),
    ),
    "a default method of a trait": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { b::f(); }",
            "a.conc": "pub trait X { fn m(self) -> Int { 1 } }\npub fn k() { }",
            "b.conc": "use a::X;\nimpl X for Int { }\npub fn f() { println(1.m()); }",
        },
        {"b.conc": "use a::X;\nimpl X for Int { }\npub fn f() { let x = 1.m(); }"}, set(), {"W0001"},
    ),
    "its parameters": Case(
        {
            "main.conc": "mod a;\nfn main() { a::f(); }",
            "a.conc": "pub fn f(x: Int = match 1 { 1 => 1, 1 => 2, _ => 3 }) { println(x); }",
        },
        {"main.conc": "mod a;\nfn main() { a::f(2); }"}, {"W0004"}, {"W0004"},
    ),
    "where its module stands": Case(
        {
            "main.conc": "mod p;\nmod q;\nfn main() { }",
            "p.conc": "mod d;\npub struct P { n: Int }\npub fn new() -> P { P { n: 1 } }",
            "d.conc": "mod c;", "c.conc": "pub fn f() { println(q::make().n); }", "q.conc": "pub fn make() -> p::P { p::new() }",
        },
        {"main.conc": "mod p;\nmod q;\nmod c;\nfn main() { }", "d.conc": ""}, set(), {"E1006"},
    ),
    "a body that a step function leads into": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { b::go(); }", "a.conc": "pub fn twice(s: String) -> String { s + s }",
            "b.conc": "memory m: Memory = Memory::new().redact(a::twice);\npub fn go() { println(m.len()); }",
        },
        {"a.conc": "pub fn twice(s: String) -> String { println(s); s + s }"}, set(), {"E4509"},
    ),
    "a body that a change of a slot leads into": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { b::go(); }", "a.conc": "pub fn order(x: Int, y: Int) -> Int { x - y }",
            "b.conc": SLOT,
        },
        {"a.conc": "pub fn order(x: Int, y: Int) -> Int { println(x); x - y }"}, set(), {"E4515"},
    ),
    "a body behind that body": Case(
        {
            "main.conc": "mod a;\nmod b;\nmod c;\nfn main() { b::go(); }",
            "a.conc": "pub fn order(x: Int, y: Int) -> Int { c::less(x, y) }",
            "b.conc": SLOT, "c.conc": "pub fn less(x: Int, y: Int) -> Int { x - y }",
        },
        {"c.conc": "pub fn less(x: Int, y: Int) -> Int { println(x); x - y }"}, set(), {"E4515"},
    ),
    "a declaration that such a body uses": Case(
        {
            "main.conc": "mod a;\nmod b;\nmod c;\nfn main() { b::go(); }",
            "a.conc": "pub fn order(x: Int, y: Int) -> Int { x - y - c::K.len() }",
            "b.conc": SLOT, "c.conc": "pub const K: Array<Int> = [1];",
        },
        {"c.conc": "pub memory K: Memory = Memory::new();"}, set(), {"E4515"},
    ),
    "a body that runs beside another": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { }",
            "a.conc": MODELS + 'pub async fn two() -> Result<Nil, Error> { B.execute("1")?; Ok(nil) }',
            "b.conc": "pub async fn go() { let (x, y) = await (a::one(), a::two()); println(x.is_ok(), y.is_ok()); }",
        },
        {"a.conc": MODELS + 'pub async fn two() -> Result<Nil, Error> { B.with_memory(log).execute("1")?; Ok(nil) }'},
        set(), {"W0452"},
    ),
    "two bodies beside each other that are checked each time": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { }",
            "a.conc": MODELS + 'pub async fn two() -> Result<Nil, Error> { B.with_memory(log).execute("1")?; Ok(nil) }',
            "b.conc": "pub async fn go() { let m = Memory::new(); let (x, y) = await (a::one(), a::two()); "
            "println(m.len(), x.is_ok(), y.is_ok()); }\npub fn f() { }",
        },
        {"main.conc": "mod a;\nmod b;\nfn main() { println(1); }"}, {"W0452"}, {"W0452"},
    ),
    "the servers that a mock calls": Case(
        {"main.conc": "mod a;\nmod b;\nfn main() { }", "a.conc": SERVER.format("add"), "b.conc": MOCK.format("S.add")},
        {"a.conc": SERVER.format("sub")}, set(), {"E4003"},
    ),
    "a tool of the library that another body names": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { a::f(); }",
            "a.conc": 'use std::tools::*;\nmodel N { provider: openai, base: "m" }\n'
            'pub fn f() { println(N.with_tools([FileTool]).execute("x").is_ok()); }\npub fn g() { }',
            "b.conc": MOCK.format("FileTool.read"),
        },
        {"b.conc": MOCK.format("FileTool.write")}, set(), set(),
    ),
    "the tools of the library that it names": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { a::f(); }",
            "a.conc": 'use std::tools::*;\nmodel M { provider: openai, base: "m" }\n'
            'pub fn f() { println(M.with_tools([FileTool]).execute("x").is_ok()); }',
            "b.conc": "",
        },
        {"b.conc": TOOL.replace("tool T", "tool FileTool").format("read")}, set(), {"E4013"},
    ),
    "the imports of the module around it": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { a::c::f(); }", "a.conc": "use crate::b::g;\npub mod c;",
            "b.conc": "pub fn g() { }",
            "c.conc": "pub fn f() { super::g(); }",
        },
        {"c.conc": "pub fn f() { }"}, set(), {"W0002"},
    ),
    "its own imports": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { a::f(); }", "a.conc": "use crate::b::g;\npub fn f() { g(); }",
            "b.conc": "pub fn g() { }",
        },
        {"b.conc": "pub fn g() { let x = 1; }"}, set(), {"W0001"},
    ),
    "errors elsewhere, without which it has warnings": Case(
        {"main.conc": "mod a;\nmod b;\nfn main() { a::f(); }", "a.conc": "pub fn f() { let x = 1; }", "b.conc": "pub fn g() { }"},
        {"b.conc": "pub fn g() { nothing(); }"}, {"W0001"}, {"E1001"},
    ),
    "the end of errors elsewhere": Case(
        {
            "main.conc": "mod a;\nmod b;\nfn main() { a::f(); }", "a.conc": "pub fn f() { let x = 1; }",
            "b.conc": "pub fn g() { nothing(); }",
        },
        {"b.conc": "pub fn g() { }"}, {"E1001"}, {"W0001"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_file_depends_on(name: str) -> None:
    case = CASES[name]
    cache = Counting()
    files = dict(case.files)
    for _ in range(2):
        found = checked(files, case.root, cache)
        assert {one.code for one in found} == case.before
    assert cache.last, "no body was left out: the case shows nothing"
    # The edit, its reversal, and the edit once more: records of both texts are known then.
    for files in ({**case.files, **case.edit}, case.files, {**case.files, **case.edit}):
        for _ in range(2):
            assert checked(files, "main.conc", cache) == checked(files, "main.conc", None)
    assert {one.code for one in checked(files, "main.conc", cache)} == case.after


@pytest.mark.parametrize("nested", [False, True])
def test_limits_of_the_program_count_what_was_left_out(monkeypatch: pytest.MonkeyPatch, nested: bool) -> None:
    """Each file stays below the limit, all together do not."""
    monkeypatch.setattr(state, "MATCH_STEPS", 100)
    for module in (exhaustiveness, program):
        monkeypatch.setattr(module, "MOST_STEPS", 40)
    monkeypatch.setattr(exhaustiveness, "STEPS_PER_CHARACTER", 0)
    body = "match x { (Some(true), _) => {}, (Some(false), _) => {}, (None, true) => {}, (None, false) => {} }"  # 35 steps
    text = f"pub fn f(x: (Option<Bool>, Bool)) {{ {body} }}"
    known = f"pub fn g() {{ {text.removeprefix('pub ')} f((None, true)); }}" if nested else text
    files = {"main.conc": "mod a;\nmod b;\nmod c;\nfn main() { }", "a.conc": known, "b.conc": known, "c.conc": ""}
    cache = Counting()
    for edit, codes in ((files, set()), ({**files, "c.conc": text}, {"E0114"}), (files, set())):
        for _ in range(2):
            assert {one.code for one in checked(edit, "main.conc", None)} == codes
            assert checked(edit, "main.conc", cache) == checked(edit, "main.conc", None)


def test_warnings_of_arms_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one of their own: a warning that is not looked for costs no error (G-5.9)."""
    monkeypatch.setattr(exhaustiveness, "STEPS_PER_CHARACTER", 0)
    useless = "fn f(x: Bool) { match x { true => {}, false => {}, true => {} } }"  # 8 steps for E3001, 12 for W0004
    files = {"main.conc": "mod a;\nmod b;\nmod c;\nfn main() { }", "a.conc": useless, "b.conc": useless, "c.conc": ""}
    for steps, found in ((1_000, ["W0004", "W0004", "W0004"]), (30, ["W0004", "W0004"])):
        monkeypatch.setattr(state, "MATCH_STEPS", steps)
        for module in (exhaustiveness, program):
            monkeypatch.setattr(module, "MOST_STEPS", 40)
        cache = Counting()
        for edit in (files, {**files, "c.conc": useless}):
            for _ in range(2):
                assert checked(edit, "main.conc", cache) == checked(edit, "main.conc", None)
        codes = [one.code for one in checked({**files, "c.conc": useless}, "main.conc", None)]
        assert [code for code in codes if code not in ("W0001", "W0011")] == found


def test_the_pattern_of_a_let_draws_on_the_same_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustiveness, "STEPS_PER_CHARACTER", 0)
    monkeypatch.setattr(state, "MATCH_STEPS", 40)
    for count, codes in ((2, set()), (3, {"E0114"})):
        lets = "let (_, (_, _) | (_, _)) = x; " * count  # 17 steps each
        files = {"main.conc": f"fn main() {{ let x = (1, (2, 3)); {lets} }}"}
        assert {one.code for one in checked(files, "main.conc", None)} == codes


def test_an_error_in_an_interface_that_has_its_cause_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The constants of a program may be the larger, the longer it is (G-5.10): a comment makes one sound."""
    files = {
        "main.conc": "mod a;\nmod b;\nfn main() { }", "a.conc": 'pub const K: String = "ab" + "cd";',
        "b.conc": 'pub fn f(x: String) { match x { a::K => {}, "abcd" => {}, _ => {} } }',
    }  # fmt: skip
    monkeypatch.setattr(state, "CONSTANT_VALUES", -sum(map(len, files.values())))
    cache = Counting()
    assert "E2033" in {one.code for one in checked(files, "main.conc", cache)}
    files["main.conc"] += "// a comment"
    assert checked(files, "main.conc", cache) == checked(files, "main.conc", None)
    assert "W0004" in {one.code for one in checked(files, "main.conc", cache)}


def test_questions_of_a_file_that_is_known_lead_nowhere() -> None:
    case = CASES["a body that a step function leads into"]
    cache = Counting()
    checked(case.files, "main.conc", cache)
    checked({**case.files, "main.conc": case.files["main.conc"].replace("b::go();", "b::go(); b::go();")}, "main.conc", cache)
    assert cache.last == {"a.conc", "b.conc"}


def test_an_edit_of_a_body_checks_its_own_file_only() -> None:
    files = {f"m{number}.conc": f"pub fn f(x: Int) -> Int {{ x + {number} }}" for number in range(30)}
    files["main.conc"] = "".join(f"mod m{number};\n" for number in range(30)) + "fn main() { println(m7::f(1)); }"
    cache = Counting()
    checked(files, "main.conc", cache)
    files["m7.conc"] = "// a comment\n" + files["m7.conc"].replace("x +", "x -")
    assert not checked(files, "main.conc", cache)
    assert cache.last == files.keys() - {"m7.conc"}
    files["m7.conc"] = files["m7.conc"].replace("x: Int", "x: Int, _y: Int = 1")
    assert not checked(files, "main.conc", cache)
    assert cache.last == files.keys() - {"m7.conc", "main.conc"}


def test_programs_share_what_their_modules_came_to() -> None:
    files = {"tools.conc": "pub fn f(x: Int) -> Int { x }", "one.conc": "use tools::f;\nfn main() { println(f(1)); }"}
    files["two.conc"] = files["one.conc"].replace("1", "2")
    cache = Counting()
    for root in ("one.conc", "two.conc"):
        assert not checked(files, root, cache)
    assert cache.last == {"tools.conc"}


def test_a_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("concerto.compiler.incremental.MOST_TEXT", 2_000)
    monkeypatch.setattr("concerto.compiler.incremental.MOST_RECORDS", 10)
    cache = CheckCache()
    for number in range(100):
        assert not checked({"main.conc": f"fn main() {{ println({number}); }}"}, "main.conc", cache)
    assert cache.characters == sum(len(known.source.text) for known in cache.texts.values()) <= 2_000
    assert len(cache.records) == 10


# Random edits.

MANIFESTS = (
    "", '[agents.a]\nconnector = "x"\n', "[memory.defaults]\nwindow = 3\n", '[connections.local]\nprovider = "ollama"\n',
)  # fmt: skip


def edit_at_random(
    files: Files, cache: CheckCache, chance: random.Random, steps: int, manifests: list[Manifest | None]
) -> None:
    """Edit a program at random, mend it now and then, and compare after each edit."""
    original, files = dict(files), dict(files)
    main = "main.conc" if "main.conc" in files else sorted(files)[0]
    manifest = None
    for _ in range(steps):
        name = chance.choice(sorted(files))
        words = sorted({word for text in files.values() for word in re.findall(r"[A-Za-z_]\w*", text)})
        step = chance.random()
        if step < 0.3:
            files[name] = original[name]
        elif step < 0.35:
            manifest = chance.choice(manifests)
        elif step < 0.95:
            files[name] = edited(files[name], words, chance)
        else:
            files = dict(original)
        root = main if chance.random() < 0.9 else chance.choice(sorted(files))
        for _ in range(2):  # the second check has the records of the first
            assert checked(files, root, cache, manifest) == checked(files, root, None, manifest), (root, files)


def test_random_edits(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    manifests: list[Manifest | None] = [None]
    for number, text in enumerate(MANIFESTS):
        path = tmp_path / str(number) / "Concerto.toml"
        path.parent.mkdir()
        path.write_text(text)
        manifests.append(Manifest(str(path)))
    programs = [*chance.sample(list(suite_programs()), 15), *joined_programs(chance, 15)]
    cache = Counting()
    for files in programs:
        edit_at_random(files, cache, chance, 12, manifests)
    for files in example_programs():
        edit_at_random(files, cache, chance, 6, manifests)
    assert cache.total > 200
