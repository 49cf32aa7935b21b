"""`concerto repl` (O-9.20): entries, what they keep, commands, errors that keep the session, positions of the transcript."""

from __future__ import annotations

import pytest


@pytest.fixture
def repl(cli):
    """Lines typed into a session; gives stdout and stderr as lists of lines."""

    def run(*lines, words=("--offline",)):
        ended = cli("repl", *words, stdin="\n".join(lines).encode())
        assert ended.code == 0
        return ended.out.splitlines(), ended.err.splitlines()

    return run


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["1 + 2"], ["3"]),
        (['"a" + "b"'], ['"ab"']),
        (["2.0"], ["2.0"]),
        (["nil", "1;", "let x = 1;"], []),
        (["let x = 20;", "let y = x + 1;", "(x, y)"], ["(20, 21)"]),
        (["let mut x = 1;", "x += 4;", "x"], ["5"]),
        (["let x = 1;", 'let x = "now a text";', "x.len()"], ["10"]),
        (["let (a, mut b) = (1, [2]);", "b.push(a);", "b"], ["[2, 1]"]),
        (["let mut n = 0;", "for i in 0..4 { n += i; }", "n"], ["6"]),
        (["if true { 1 } else { 2 }"], ["1"]),
        (["fn twice(n: Int) -> Int {", "    n * 2", "}", "twice(4)"], ["8"]),
        (["fn f() -> Int { 1 }", "fn f() -> Int { 2 }", "f()"], ["2"]),
        (["struct P { a: Int }", "let p = P { a: 2 };", "p", "p == P { a: 2 }"], ["P {a: 2}", "true"]),
        (["impl P { fn up(self) -> Int { self.a + 1 } } struct P { a: Int }", "P { a: 2 }.up()"], ["3"]),
        (["enum E { A, B(Int) }", "let e = E::B(3);", "match e { E::A => 0, E::B(n) => n }"], ["3"]),
        (["let k = 10;", "let add = |n: Int| n + k;", "add(1)", "let k = 0;", "add(1)"], ["11", "11"]),
        (["use std::math;", "math::max(1, 2)"], ["2"]),
        (["const K: Int = 4;", "K * K"], ["16"]),
        (["hashmap h: HashMap<String, Int> = HashMap::new();", 'h.set("a", 1);', 'h.get("a")'], ["Some(1)"]),
        (["ledger l: Ledger = Ledger::new();", 'l.scope("s").insert("a", [], "b");', 'l.scope("s").len()'], ["1"]),
    ],
)
def test_entries(repl, lines, shown):
    assert repl(*lines) == (shown, [])


def test_models_and_memories_go_on(repl):
    out, err = repl(
        "memory log: Memory = Memory::new();",
        "model M { provider: offline, memory: log }",
        'M.execute("one")?.text',
        'log.append("user", "two");',
        "fn count() -> Int { log.len() }",
        "count()",
    )
    assert (out, err) == (['"offline: one"', "3"], [])


def test_a_memory_goes_on_under_what_is_declared_now(repl):
    """Views and fixed slots are those of the newest declarations; the log stays."""
    out, err = repl(
        "memory log: Memory = Memory::new();",
        'log.append("user", "one");',
        "memory v: Memory = Memory::of(log).window(1);",
        'log.append("user", "two");',
        "v.len()",
        "memory v: Memory = Memory::of(log).window(5);",
        "v.len()",
        "memory keyed: Memory = Memory::new().per(user);",
        'keyed.key(user: "a").append("user", "x");',
        "memory w: Memory = Memory::of(keyed);",
        '(keyed.key(user: "a").len(), w.key(user: "a").len(), keyed.keys().len())',
    )
    assert (out, err) == (["1", "2", "(1, 1, 1)"], [])
    context = "context C { session { mut n: Int } }"
    memory = "memory m: Memory<C> = Memory::new().context(C);"
    out, err = repl(context, memory, "m.n = 1; m.n = 2;", context.replace("mut ", ""), "m.n = 3;", "m.n")
    assert out == ["Some(2)"]
    assert err[0].startswith("panic[P453]")


def test_an_index_goes_on(repl):
    entries = ['d.add("green tea")', 'd.add("granite")', 'd.search("tea")?[0].0', "d.len()"]
    assert repl("index d: Index<String> = Index::of();", *entries) == (["Ok(nil)", "Ok(nil)", '"green tea"', "2"], [])


def test_the_state_of_tools_goes_on(repl):
    tool = 'tool T { description: "d", n: Int = 0, @describe("e") pub fn b(mut self) -> Int { self.n += 1; self.n } }'
    assert repl(tool, "T.b()", "T.b()", "T", tool.replace("0", "0, m: Int = 1"), "T.b()") == (["1", "2", "<tool T>", "1"], [])


def test_emits_are_shown_and_quiet_hides_them(repl):
    assert repl('emit("c", [1]);') == (["[emit:c] [1]"], [])
    assert repl('emit("c", [1]);', words=("--offline", "-q")) == ([], [])


def test_errors_keep_the_session_and_stand_in_the_transcript(repl):
    out, err = repl("let x = 1;", "x + y", "fn half(n: Int) -> Int {", "    n / 0", "}", "half(x)", '"q".parse_int()?', "x")
    assert out == ["1"]
    assert err[:3] == ["repl:2:5: error[E1001]: undefined name `y`", "  2 | x + y", "    |     ^"]
    assert [line for line in err if line.startswith("  at")] == [
        "  at half (repl:4:5)", "  at entry (repl:6:1)", "  at entry (repl:7:1)",
    ]  # fmt: skip
    assert err[-2] == 'error: not an Int: "q"'


def test_an_entry_that_fails_changes_no_variable(repl):
    assert repl("let mut x = 1;", "x = 2; x / 0;", "x")[0] == ["1"]


def test_unfinished_entries(repl):
    out, err = repl("let xs = [", "  1,", "  2", "];", "xs", "1 +", "", "fn f( {", "", "xs.len()")
    assert out == ["[1, 2]", "2"]
    assert err[0] == "repl:6:4: error[E0101]: unexpected end of the entry: expected an expression"


def test_a_type_declared_anew_forgets_its_variables(repl):
    out, err = repl("struct P { a: Int }", "let p = [P { a: 1 }];", "let q = 1;", "struct P { b: Int }", "q", "p")
    assert out == ["1"]
    assert err[0] == "forgotten: `p`, its type is declared anew"
    assert "E1001" in err[1]


def test_type_does_not_run(repl):
    assert repl(":type [1.5]", ':type emit("c", 1)', ":type |n: Int| n > 1") == (["Array<Float>", "Nil", "fn(Int) -> Bool"], [])


def test_load_and_reset(repl, write):
    write("lib.conc", "fn one() -> Int { 1 }\nfn main() { }\n")
    out, err = repl(":load lib.conc", "one()", ":reset", "one()", ":load missing.conc", ":nothing", ":quit", "never()")
    assert out == ["1"]
    assert ["E1001" in err[0], *err[-2:]] == [
        True, "cannot read missing.conc: No such file or directory", "no command :nothing; :help lists them",
    ]  # fmt: skip


def test_reset_without_the_files_of_the_flags_keeps_the_session(repl, write, tmp_path):
    write("lib.conc", "fn one() -> Int { 1 }\n")
    for flag, text in (("--env-file", "A=1\n"), ("--offline-script", "[]")):
        write("given", text)
        forget = f'std::fs::remove_file("{tmp_path / "given"}")?;'
        out, err = repl(":load lib.conc", forget, ":reset", "one()", words=("--offline", "--allow-all", flag, "given"))
        assert (out, err) == (["1"], ["cannot read given: No such file or directory"])


def test_help_lists_every_command(repl):
    out, _ = repl(":help")
    assert [line.split()[0] for line in out if line.startswith("  :")] == [":type", ":load", ":reset", ":help", ":quit"]


def test_steps_are_limited_per_entry(repl):
    out, err = repl("loop { }", "1", words=("--offline", "--max-steps", "1000"))
    assert out == ["1"]
    assert err[0].startswith("panic[P101]")


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["let x = 4", "x + 1"], ["5"]),
        (["let x = 4 // four", "x"], ["4"]),
        (["use std::math", "math::max(1, 2)"], ["2"]),
        (["const K: Int = 4", "K"], ["4"]),
        (["let mut x = 1 +", "2", "x += 1", "x"], ["4"]),
        (["fn half(", "n: Int) -> Int", "{ n / 2 }", "half(8)"], ["4"]),
        (["if true", "{ 1 } else", "{ 2 }"], ["1"]),
    ],
)
def test_the_last_semicolon_may_be_left_out_and_what_is_unfinished_goes_on(repl, lines, shown):
    assert repl(*lines) == (shown, [])


TYPED = ["fn half(", "fn half", "let x =", "model M", "(1", "1 +)", "{", "}", '"abc', "/* a", "let x = foo", "1 2"]


@pytest.mark.parametrize("line", TYPED)
def test_a_message_shows_what_the_user_typed_and_nothing_else(repl, line):
    out, err = repl(line, "", "1")
    shown = [text.partition("|")[2].strip() for text in err if text.startswith("  1 | ")]
    assert out == ["1"]
    assert shown and all(text in (line, f"{line};") for text in shown)
    assert all("fn f" not in text and "entry" not in text.replace("end of the entry", "") for text in err)


def test_places_stand_in_the_text_of_the_user_after_a_changeable_variable(repl):
    _, err = repl("let mut y = 1", "loop { }", words=("--offline", "--max-steps", "1000"))
    assert err == ["panic[P101]: step limit exceeded: 1000 (budget `steps`)", "  at entry (repl:2:6)"]


@pytest.mark.parametrize("line", ["exit", "quit", "exit()", "quit();"])
def test_the_words_that_leave_other_shells_name_the_command(repl, line):
    assert repl(line, "1") == (["1"], ["`:quit` leaves"])


def test_a_variable_named_like_them_is_a_variable(repl):
    assert repl("let exit = 4", "exit") == (["4"], [])


def test_a_value_without_a_type_is_not_called_by_an_inner_name(repl):
    _, err = repl("None")
    assert err and not any("value_of" in line for line in err)


MANY_WORDS = " | ".join(f'"w{n}"' for n in range(50))


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (['let x: ("a" | "b")? = nil;', 'x ?? "b"'], ['"b"']),
        (["let f: (fn() -> Int)? = nil;", "f == nil"], ["true"]),
        ([r'let x: "a\"b" | "\u{1b}" = "a\"b";', "x.len()"], ["3"]),
        ([f'let x: {MANY_WORDS} = "w49";', "x"], ['"w49"']),
        ([f"let x = ({', '.join(map(str, range(210)))});", "x.209"], ["209"]),
        (["use std::date;", 'let d = date::parse("2024-05-06")?;', "d.year"], ["2024"]),
        (["mod m { pub struct S { pub a: Int } }", "let s = m::S { a: 1 };", "s.a", "[s].len()"], ["1", "1"]),
        (["struct S { a: Int } let s = S { a: 1 };", "s.a", "S { a: 2 }"], ["1", "S {a: 2}"]),
        (["fn f() -> Int { 3 } let n = f(); n", "f() + n"], ["3", "6"]),
        (["model M { provider: offline }", 'impl M { fn hi(self) -> Int { 1 } }', "let m = M;", "m.hi()"], ["1"]),
        (["let l = { struct L { z: Int } L { z: 3 } };", "l.z"], ["3"]),
        (["struct P { a: Int }", "let p = P { a: 1 };", "impl P { fn twice(self) -> Int { self.a * 2 } }", "p.twice()"], ["2"]),
        (["trait T { fn t(self) -> Int; }", "impl T for Int { fn t(self) -> Int { self } }", "let t: T = 4;", "t.t()"], ["4"]),
        (["let o = None ?? 1;", "let b = (o, |n: Int| n + 1);", "b.0"], ["1"]),
    ],
)
def test_variables_of_every_type_go_on(repl, lines, shown):
    assert repl(*lines) == (shown, [])


def test_a_module_that_is_declared_anew_takes_its_types_along(repl):
    out, err = repl(
        "mod m { pub struct S { pub a: Int } }", "let s = m::S { a: 1 };", "let n = 2;",
        "mod m { pub struct S { pub b: Int } }", "n",
    )  # fmt: skip
    assert (out, err) == (["2"], ["forgotten: `s`, its type is declared anew"])


def test_a_struct_among_statements_takes_the_place_of_an_earlier_one(repl):
    out, err = repl(
        "struct S { a: Int }", "let s = S { a: 1 };", "struct S { b: Int } let t = S { b: 2 }; t.b", "t.b", "S { b: 3 }",
    )  # fmt: skip
    assert (out, err) == (["2", "2", "S {b: 3}"], ["forgotten: `s`, its type is declared anew"])


def test_warnings_are_shown_once(repl):
    out, err = repl("fn f() -> Int { return 1; println(2); }", "f()", "fn g() -> Int { 3 }", "g()")
    assert out == ["1", "3"]
    assert sum("warning[" in line for line in err) == 1


def test_a_value_whose_text_is_too_long_ends_no_dialogue(repl):
    long = '"x".repeat(9000000)'
    out, err = repl(
        f"[{long}, {long}]", f"[{long}, {long}].len()", f"let both = [{long}, {long}];", 'throw "${1}"', "both.len()",
    )  # fmt: skip
    shown = "a value that cannot be shown: string size limit exceeded: 16777216 bytes (budget `value_bytes`)"
    assert out == [shown, "2", "2"] and any("1" in line for line in err)


def test_quit_leaves_with_words_behind_it_too(repl):
    assert repl(":quit now", "1 + 1") == ([], [])


def test_input_that_is_no_utf_8_is_an_error_of_its_entry(cli):
    ended = cli("repl", stdin=b'1 + 1\n"\xff"\n2 + 2\n')
    assert (ended.code, ended.out) == (0, "2\n4\n") and "error[E0001]" in ended.err
