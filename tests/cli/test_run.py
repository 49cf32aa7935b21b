"""`concerto run`: emits, errors, panics, limits, keys, scripts (O-9.11, O-9.13, O-9.27, O-9.28, O-1.26)."""

import json
import time

import pytest

ASKS = """\
@log
model M { provider: openai, base: "m-1" }
fn main() {
    emit("answer", M.execute("hi")?.text);
    emit("pair", ["a", "ü"]);
}
"""


@pytest.fixture
def asks(write):
    return write("asks.conc", ASKS)


def test_emits_as_text(cli, asks):
    assert cli("run", "--offline", asks) == (0, "[emit:answer] offline: hi\n[emit:pair] [\"a\",\"ü\"]\n", "")


def test_emits_as_json(cli, asks):
    lines = '{"channel":"answer","payload":"offline: hi"}\n{"channel":"pair","payload":["a","ü"]}\n'
    assert cli("run", "--offline", "--emit-format", "json", asks) == (0, lines, "")


def test_verbose_shows_runtime_channels(cli, asks):
    code, out, err = cli("run", "--offline", "--verbose", asks)
    assert (code, err) == (0, "")
    assert out.startswith('[emit:model:log] {"model":"m-1","connection":"openai","method":"execute","attempt":1,')
    rows = [json.loads(line) for line in cli("run", "--offline", "--verbose", "--emit-format", "json", asks).out.splitlines()]
    assert [row["channel"] for row in rows] == ["model:log", "answer", "pair"]
    assert (rows[0]["payload"]["prompt"], rows[0]["payload"]["text"], rows[0]["payload"]["ok"]) == ("hi", "offline: hi", True)


def test_quiet_hides_emits_and_warnings_but_not_failures(cli, write, asks):
    assert cli("run", "--offline", "--quiet", "--verbose", asks) == (0, "", "")
    write("w.conc", 'fn main() { let unused = 1; emit("a", 1); [1][3]; }')
    assert "warning[W0001]" in cli("run", "w.conc").err
    quiet = cli("run", "-q", "w.conc")
    assert (quiet.code, quiet.out, quiet.err.splitlines()[0]) == (1, "", "panic[P004]: index out of range: index 3, length 1")


def test_print_and_println(cli, write):
    write("p.conc", 'fn main() { print("a", 1); println(); println("b"); }')
    assert cli("run", "p.conc") == (0, "a 1\nb\n", "")
    assert cli("run", "p.conc", "--quiet").out == "a 1\nb\n"  # quiet is about emits


def test_metrics(cli, asks):
    code, out, err = cli("run", "--offline", "--metrics", asks)
    assert code == 0
    counters = json.loads(err)
    assert counters["model_calls"] == 1 and counters["emit_count"] == 2 and counters["errors"] == 0
    assert counters["tokens_by_model"] == {"m-1": 4} and counters["tokens_by_connection"] == {"openai": 4}
    assert (counters["total_tokens"], counters["estimated_cost"]) == (4, 0.0)


# ---------------------------------------------------------------- failures


PINNED = """\
memory log: Memory = Memory::new().pin(when: |m| 1 / len(m.content) == 1);
model M { provider: offline, memory: log }
fn put() { %s }
fn main() { put(); }
"""


@pytest.mark.parametrize("call", ['log.append("user", "");', 'M.execute("").ok();'])
def test_a_panic_in_a_step_of_a_memory_has_the_frames_of_the_caller(cli, write, call):
    """The function of a step runs on a machine of its own, for a program that waits at a place."""
    write("p.conc", PINNED % call)
    code, _, err = cli("run", "--offline", "--debug", "p.conc")
    lines = [line for line in err.splitlines() if line.startswith("  at ")]
    assert code == 1
    assert lines[0] == "  at closure (p.conc:1:50)"
    assert lines[1].startswith("  at put (p.conc:3:") and lines[2:] == ["  at main (p.conc:4:13)"]
    assert err.index("  at closure") < err.index('m = Message {role: "user"') < err.index("  at put")


def test_panic_with_its_trace(cli, write):
    source = (
        "fn pick(items: Array<Int>, at: Int) -> Int {\n    items[at]\n}\n"
        'fn main() {\n    let inner = |at: Int| pick([1], at);\n    emit("before", 1);\n    emit("x", inner(5));\n}\n'
    )
    code, out, err = cli("run", write("p.conc", source))
    assert (code, out) == (1, "[emit:before] 1\n")
    lines = err.splitlines()
    assert lines[0] == "panic[P004]: index out of range: index 5, length 1"
    assert lines[1] == "  at pick (p.conc:2:5)"
    assert lines[2].endswith("(p.conc:5:27)")
    assert lines[3:] == ["  at main (p.conc:7:15)"]


DEBUGGED = """fn pick(items: Array<Int>, at: Int) -> Int {
    let name = "a \\"b\\"";
    for item in items { let seen = item + at; if seen > 7 { let all = (name, seen); return items[all.1]; } }
    let after = 1;
    after
}
fn main() {
    let mut total = 1;
    let add = |n: Int| { total = total + n; pick([1, 2], total) };
    let shadow = 1;
    if shadow == 1 { let shadow = "inner"; println(shadow, add(5)); }
}
"""


def test_debug_shows_the_locals_of_each_frame(cli, write):
    """O-9.13: of a source and of its image; a stripped image has no names to show."""
    expected = [
        "panic[P004]: index out of range: index 8, length 2",
        "  at pick (p.conc:3:92)",
        "      items = [1, 2]", "      at = 6", '      name = "a \\"b\\""', "      item = 2", "      seen = 8",
        '      all = ("a \\"b\\"", 8)',
        "  at closure (p.conc:9:45)",
        "      total = 6", "      n = 5",
        "  at main (p.conc:11:60)",
        "      total = 6", "      add = <fn>", '      shadow = "inner"',
    ]  # fmt: skip
    write("p.conc", DEBUGGED)
    code, _, err = cli("run", "--debug", "p.conc")
    assert (code, err.splitlines()) == (1, expected)
    plain = [line for line in expected if not line.startswith("      ")]
    assert cli("run", "p.conc").err.splitlines() == plain
    assert cli("compile", "p.conc").code == cli("compile", "--strip", "p.conc", "-o", "stripped.concb").code == 0
    assert cli("run", "--debug", "p.concb").err.splitlines() == expected
    assert cli("run", "--debug", "stripped.concb").err.splitlines() == plain


def test_debug_shows_no_secret(cli, write, monkeypatch):
    """Neither whole, nor cut by the end of a long text, nor behind the escapes of quoted text (G-10.3)."""
    secret = 'sk-"planted"-0123456789'
    monkeypatch.setenv("MY_TOKEN", secret)
    write("s.conc", """fn main() {
    let plain = std::env::get("MY_TOKEN").unwrap();
    let cut = "x".repeat(190) + plain;
    let inside = { "k": [Some(plain)] };
    panic("${plain.len()} ${cut.len()} ${inside.len()}");
}
""")
    code, _, err = cli("run", "--debug", "--allow-env=MY_TOKEN", "s.conc")
    assert code == 1 and err.count("<secret MY_TOKEN>") == 2 and "planted" not in err and "sk-" not in err


def test_long_trace_shows_both_ends(cli, write):
    write("r.conc", "fn f(n: Int) -> Int { f(n + 1) + 1 }\nfn main() { f(0); }\n")
    code, out, err = cli("run", "-q", "r.conc")
    lines = err.splitlines()
    assert (code, lines[0]) == (1, "panic[P012]: call depth exceeded: limit 10000")
    assert lines[1:26] == ["  at f (r.conc:1:23)"] * 25
    assert lines[26] == "  … 9951 more frames …"
    assert lines[-2:] == ["  at f (r.conc:1:23)", "  at main (r.conc:2:13)"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ('AgentError::new("it broke")', 1),
        ('AgentError::PermissionDenied("it broke")', 77),
        ('ToolError::PermissionDenied("it broke")', 77),
    ],
)
def test_error_of_main(cli, write, error, code):
    write("e.conc", f'fn main() -> Result<Nil, Error> {{\n    emit("before", 1);\n    Err({error})\n}}\n')
    assert cli("run", "e.conc") == (code, "[emit:before] 1\n", "error: it broke\n  at main (e.conc:3:5)\n")


WAY = """fn port(text: String) -> Result<Int, ParseError> { text.parse_int() }

fn settings(text: String) -> Result<Int, ParseError> {
    let found = port(text)?;
    Ok(found + 1)
}

fn main() -> Result<Nil, ParseError> {
    for _ in 0..50 { settings("1")?; }
    settings("x")?;
    Ok(nil)
}
"""


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_an_error_of_main_names_where_it_was_made_and_its_way(cli, write, tier):
    write("e.conc", WAY)
    places = ["port (e.conc:1:52)", "settings (e.conc:4:17)", "main (e.conc:10:5)"]
    told = "".join(f"  at {place}\n" for place in places)
    assert cli("run", "--tier", tier, "e.conc") == (1, "", f'error: not an Int: "x"\n{told}')
    assert cli("compile", "--strip", "e.conc", "-o", "e.concb")[0] == 0
    assert cli("run", "--tier", tier, "e.concb")[2] == f'error: not an Int: "x"\n{told}'


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_the_middle_of_a_long_way_is_left_out(cli, write, tier):
    deep = "fn deep(n: Int) -> Result<Int, Error> { if n == 0 { return Err(Error::new(\"no\")); } Ok(deep(n - 1)? + 1) }\n"
    write("d.conc", deep + "fn main() { deep(5)?; }\n")
    assert len(cli("run", "--tier", tier, "d.conc")[2].splitlines()) == 8
    write("d.conc", deep + "fn main() { for n in 0..30 { let _ = deep(n).is_ok(); } deep(30)?; }\n")
    assert "more" not in cli("run", "--tier", tier, "d.conc")[2]
    for depth, more in ((31, 1), (32, 2), (90, 60), (9000, 8970)):
        write("d.conc", deep + f"fn main() {{ for n in 0..30 {{ let _ = deep(n).is_ok(); }} deep({depth})?; }}\n")
        lines = cli("run", "--tier", tier, "d.conc")[2].splitlines()
        assert lines[0] == "error: no" and lines[1].startswith("  at deep (d.conc:1:60)") and len(lines) == 34
        assert lines[17] == f"  … {more} more …" and lines[33].startswith("  at main (d.conc:2:")


def test_a_way_that_grows_forever_takes_no_room(cli, write):
    source = """fn again(e: Result<Int, Error>) -> Result<Int, Error> { Ok(e?) }
fn main() {
    let mut kept: Result<Int, Error> = Err(Error::new("no"));
    for _ in 0..2000 { kept = again(kept); }
    kept?;
}
"""
    _, _, err = cli("run", write("g.conc", source))
    assert "  … 1970 more …" in err.splitlines() and len(err.splitlines()) == 34


@pytest.mark.parametrize(("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")])
def test_missing_key(cli, write, provider, variable):
    write("k.conc", ASKS.replace("openai", provider))
    way = "set it, or run with --offline (in Python offline=True) to use the offline provider"
    message = f"m-1: environment variable {variable} is not set; {way}"
    assert cli("run", "k.conc") == (1, "", f"error: {message}\n  at main (k.conc:4:20)\n")


def test_no_main(cli, write):
    message = "lib.conc: error[E1013]: no main function to run; add `fn main() { }`\n"
    assert cli("run", write("lib.conc", "pub fn one() -> Int { 1 }")) == (65, "", message)


# ---------------------------------------------------------------- limits and chance


def test_max_steps(cli, write):
    write("loop.conc", 'fn main() { let mut n = 0; while n < 1_000_000 { n += 1; } emit("n", n); }')
    code, out, err = cli("run", "--max-steps", "5000", "loop.conc")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == "panic[P101]: step limit exceeded: 5000 (budget `steps`)"
    assert err.splitlines()[1].startswith("  at main (loop.conc:1:")
    write("short.conc", 'fn main() { emit("n", 1); }')
    assert cli("run", "--max-steps", "5000", "short.conc") == (0, "[emit:n] 1\n", "")


def test_seed_fixes_the_jitter_of_retries(cli, asks, write):
    """The waits take no time, but the clock of the run has them."""
    write("replies.json", json.dumps([{"error": "server"}, {"error": "rate_limit"}, "at last"]))

    def waited(*seed):
        ran = cli("run", "--offline-script", "replies.json", "--metrics", *seed, asks)
        assert ran.out.startswith("[emit:answer] at last\n")
        return json.loads(ran.err)["execution_time_ms"]

    assert waited("--seed", "7") == waited("--seed", "7") > 1000
    assert waited("--seed", "7") != waited("--seed", "8")


# ---------------------------------------------------------------- offline and environment


def test_variable_for_offline_runs(cli, asks, monkeypatch):
    monkeypatch.setenv("CONCERTO_OFFLINE", "1")
    assert cli("run", asks).code == 0
    monkeypatch.setenv("CONCERTO_OFFLINE", "0")
    assert cli("run", asks).code == 1


def test_scripted_replies_then_the_usual_ones(cli, write):
    source = 'model M { provider: openai, base: "m" }\nfn main() { for i in 0..3 { emit("a", M.execute("q${i}")?.text); } }'
    write("s.conc", source)
    write("replies.json", '["one", {"text": "two"}]')
    assert cli("run", "s.conc", "--offline-script", "replies.json") == (
        0,
        "[emit:a] one\n[emit:a] two\n[emit:a] offline: q2\n",
        "replies.json has no reply left: 1 request was answered as --offline does\n",
    )
    assert cli("run", "s.conc", "--offline-script", "replies.json", "-q").err == ""


def test_replies_of_comments(cli, write):
    """O-1.280"""
    source = 'model M { provider: openai, base: "m" }\nfn main() { for _ in 0..4 { emit("a", M.execute("q")?.text); } }\n'
    replies = '// reply: text "one" after=20ms\n// reply: text {"two": 2}\n// reply: stream "th" "ree"\n'
    write("s.conc", source + replies + "// reply: fault 404\n")
    ran = cli("run", "s.conc", "--offline-script", "s.conc")
    assert ran.out == '[emit:a] one\n[emit:a] {"two": 2}\n[emit:a] three\n'
    assert ran.err.startswith("error: ") and ran.code == 1


def test_answers_of_comments(cli, write):
    """O-5.39"""
    source = """channel ask: Int -> Bool;
enum Way { Fast, By(Int) }
channel way: Int -> Way;
fn main() { for n in 0..4 { println(ask(n)); } println(way(1), await emit("other", 1)); }
"""
    answers = '// answer: ask true\n    // answer: way {"variant": "By", "data": 3}\n'
    answers += '// answer: ask 3\n// answer: ask fault "closed"\n'
    write("s.conc", source + answers)
    ran = cli("run", "s.conc", "--offline-script", "s.conc")
    printed = [line for line in ran.out.splitlines() if not line.startswith("[emit:")]
    assert printed[:2] == ["Ok(true)", "Err(the answer on ask: expected Bool, found Int)"] and "closed" in printed[2]
    assert printed[3].startswith("Err(nobody answers emits on ask; a host answers by")
    assert printed[4:] == ["Ok(Way::By(3)) Err(nobody answers emits on other)"]


def test_answers_that_fail_or_never_come(cli, write):
    """O-5.39: the forms of the suite."""
    source = """channel ask: Int -> Bool;
fn main() {
    for n in 0..5 { println(ask(n)); }
    println(await emit("ask", 5, timeout: "2s"), await emit("ask", 6));
}
"""
    forms = ("fault no-listener", 'fault failed "closed"', 'fault "gone"', "fault handler", "true", "none", "none")
    write("s.conc", source + "".join(f"// answer: ask {form}\n" for form in forms))
    ran = cli("run", "s.conc", "--offline-script", "s.conc")
    printed = [line for line in ran.out.splitlines() if not line.startswith("[emit:")]
    assert printed[0].startswith("Err(nobody answers emits on ask")
    assert printed[1:5] == ["Err(closed)", "Err(gone)", "Err(handler)", "Ok(true)"]
    assert printed[5] == "Err(no answer on ask within 2000 ms) Err(no answer came within a day; the emit has no timeout)"
    assert (ran.code, ran.err) == (0, "")


def test_calls_of_tools_in_comments(cli, write):
    """O-1.280"""
    source = """/// Numbers.
tool T {
    /// Adds.
    pub fn add(self, @param("a number") n: Int) -> Int { println(n); n }
}
model M { provider: openai, base: "m", tools: [T] }
fn main() { let r = M.execute("q")?; println(r.text); }
"""
    write("s.conc", source + '// reply: call T__add {"n": 1} & call T__add {"n": 2}\n// reply: text "both"\n')
    ran = cli("run", "s.conc", "--offline-script", "s.conc")
    assert (ran.out, ran.err, ran.code) == ("1\n2\nboth\n", "", 0)


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("", "s.conc: it has no replies: write"),
        ("// reply: say hello", "s.conc:2: 'say hello' is no reply: write"),
        ("// reply: text hello", "s.conc:2: 'text hello' is no reply: write"),
        ("// answer: ask", "s.conc:2: 'ask' is no answer: write"),
        ("// answer: ask maybe", "s.conc:2: 'ask maybe' is no answer: write"),
        ("// answer: ask fault 3", "s.conc:2: 'ask fault 3' is no answer: write"),
        ("// answer: ask fault no pen", "s.conc:2: 'ask fault no pen' is no answer: write"),
        ("// answer: ask none left", "s.conc:2: 'ask none left' is no answer: write"),
        ("// reply: call T__m", "s.conc:2: 'call T__m' is no reply: write"),
        ("// reply: call T__m {} {}", "s.conc:2: 'call T__m {} {}' is no reply: write"),
        ('// reply M: text "a"', "s.conc:2: replies of one model cannot be scripted"),
        ("// answer: ask " + "[" * 3000, "s.conc:2: 'ask [[["),
        ("// answer: ask NaN", "s.conc:2: 'ask NaN' is no answer: write"),
        ("// reply: text " + "[" * 3000, "s.conc:2: 'text [[["),
        ("// reply: stream " + "[" * 3000, "s.conc:2: 'stream [[["),
        ("// reply: call T__m " + "[" * 3000, "s.conc:2: 'call T__m [[["),
        ('// reply: call T__m {"n": NaN}', "s.conc:2: 'call T__m {\"n\": NaN}' is no reply: write"),
    ],
)
def test_comments_that_are_no_replies(cli, write, comment, why):
    write("s.conc", "fn main() { }\n" + comment + "\n")
    ran = cli("run", "s.conc", "--offline-script", "s.conc")
    assert (ran.code, ran.err[: len(why)]) == (2, why)


@pytest.mark.parametrize("comment", ["// reply: say hello", "// answer: ask", '// reply M: text "a"'])
def test_the_line_of_a_comment_behind_empty_lines(cli, write, comment):
    write("s.conc", f"fn main() {{ }}\n\n \n\t{comment}\n")
    assert cli("run", "s.conc", "--offline-script", "s.conc").err.startswith("s.conc:4: ")


def test_empty_lines_take_no_time(cli, write):
    """A search from each of these lines to the last one would take a minute."""
    write("s.conc", "fn main() { }\n" + "\n" * 60_000 + '// reply: text "a"\n// answer: ask true\n')
    began = time.perf_counter()
    assert cli("run", "s.conc", "--offline-script", "s.conc").code == 0
    assert time.perf_counter() - began < 10


UNKNOWN = (
    "replies.json: scripted reply 1: unknown field txt; fields are text, chunks, tokens_in, tokens_out, model, delay_ms, "
    "tokens_cached, tokens_cache_write, tokens_reasoning, reasoning, citations, hosted_calls, hosted, media, finish, "
    "tool_calls, error"
)


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        (None, 66, "cannot read replies.json: No such file or directory"),
        ("nonsense", 2, "replies.json: not a JSON array of replies: unexpected text at line 1, column 1"),
        ("[1,", 2, "replies.json: not a JSON array of replies: unexpected end of text"),
        ("[" * 100_000, 2, "replies.json: not a JSON array of replies: nested deeper than 64"),
        ('{"a": 1}', 2, "replies.json: a script is a JSON array of replies"),
        ("[1]", 2, "replies.json: scripted reply 0: expected a String or a Map"),
        ('["a", {"txt": "b"}]', 2, UNKNOWN),
    ],
    ids=["missing", "no JSON", "cut off", "deep", "object", "number", "unknown field"],
)
def test_scripts_that_are_none(cli, asks, write, script, code, message):
    if script is not None:
        write("replies.json", script)
    assert cli("run", asks, "--offline-script", "replies.json") == (code, "", message + "\n")


def test_the_replies_of_a_connection_are_checked(cli, asks, write):
    """Before anything runs, and with the name of the connection."""
    write(
        "Concerto.toml",
        '[project]\nname = "m"\nversion = "0.1.0"\nentry = "main.conc"\n'
        '[connections.spare]\nprovider = "offline"\nreplies = ["a", { txt = "b" }]\n',
    )
    told = UNKNOWN.replace("replies.json:", "E4001: connection spare:")
    assert cli("run", asks) == (2, "", told + "\n")


@pytest.fixture
def needs_keys(write):
    """A connection to where nobody listens; a missing key is named before anything is sent."""
    return write(
        "keys.conc",
        'connect one { provider: "openai", base_url: "http://127.0.0.1:9/v1", api_key: env("ONE_KEY"),'
        " retry: { max_attempts: 1 } }\n"
        'model M { provider: one, base: "m" }\nfn main() { M.execute("hi")?; }\n',
    )


def test_env_file(cli, needs_keys, write, monkeypatch):
    write("keys.env", "# keys of the lab\n\n  ONE_KEY = from-the-file=really \nOTHER=1\n")
    assert "environment variable ONE_KEY is not set" in cli("run", needs_keys).err
    code, _, err = cli("run", "--env-file", "keys.env", needs_keys)
    assert (code, "connection failed" in err, "ONE_KEY" in err) == (1, True, False)
    write("keys.env", "ONE_KEY=from the fü file\n")
    assert "the value of ONE_KEY holds characters a header cannot carry" in cli("run", "--env-file", "keys.env", needs_keys).err
    monkeypatch.setenv("ONE_KEY", "set already")
    assert "connection failed" in cli("run", "--env-file", "keys.env", needs_keys).err  # variables already set win


def test_env_files_that_are_none(cli, asks, write):
    assert cli("run", asks, "--env-file", "gone") == (66, "", "cannot read gone: No such file or directory\n")
    write("keys.env", "A=1\nnonsense\n")
    assert cli("run", asks, "--env-file", "keys.env") == (2, "", "keys.env:2: expected NAME=value\n")
    write("keys.env", "=1\n")
    assert cli("run", asks, "--env-file", "keys.env") == (2, "", "keys.env:1: expected NAME=value\n")
    write("keys.env", "A = 1\nexport B=1\n")
    refused = "keys.env:2: expected NAME=value, and nothing before the name: export\n"
    assert cli("run", asks, "--env-file", "keys.env") == (2, "", refused)


def test_an_own_error_shows_its_message(cli, write):
    """Its field `message`, or its Display text (L-3.11.14)."""
    fails = "fn main() -> Result<Nil, E> { Err(%s) }"
    write("e.conc", "struct E { message: String }\nimpl Error for E { }\n" + fails % 'E { message: "gone" }')
    assert cli("run", "e.conc") == (1, "", "error: gone\n  at main (e.conc:3:31)\n")
    write("e.conc", "enum E { A(Int) }\nimpl Error for E { }\n" + fails % "E::A(1)")
    assert cli("run", "e.conc") == (1, "", "error: E::A(1)\n  at main (e.conc:3:31)\n")


def test_the_seed_fixes_the_random_numbers_of_the_library(cli, write):
    write("r.conc", "fn main() { print(std::math::random(), std::math::random_int(1, 1000000)); }")
    drawn = [cli("run", "r.conc", "--seed", seed).out for seed in ("7", "7", "8")]
    assert drawn[0] == drawn[1] != drawn[2]


def test_every_budget_has_a_flag(cli, asks, write):
    """O-9.27, G-6.4."""
    err = cli("run", "--offline", "--max-tokens", "3", asks).err
    assert err.startswith("error: token budget spent") and "(budget `tokens`)" in err
    assert cli("run", "--offline", "--max-model-calls", "1", asks).code == 0
    assert cli("run", "--offline", "--max-tokens", "100000", asks).code == 0
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "asks.conc"\n[pricing."m-1"]\n'
          "input_per_million = 1000000\noutput_per_million = 1000000\n")  # fmt: skip
    reply = '{ text: "a", tokens_in: 3, tokens_out: 3 }'
    calls = f'mock M {{ response: {reply} }} M.execute("x")?; M.execute("y")?;'
    write("t.conc", f'model M {{ provider: openai, base: "m-1" }}\n@test fn f() {{ {calls} }}\n')
    assert "f -- cost budget spent" in cli("test", "--max-cost", "0.5", "t.conc").out
    assert cli("test", "--max-cost", "1e9", "t.conc").code == 0
    write("s.conc", "fn main() { std::time::sleep(60000); }")
    assert cli("run", "--offline", "--max-seconds", "5", "s.conc").err.startswith("panic[P102]")


@pytest.mark.parametrize(
    ("grown", "said"), [("[x, x]", "string size limit exceeded"), ("[x]", "nesting limit exceeded: 256 levels")]
)
def test_an_error_that_cannot_be_shown_is_a_panic_of_main(cli, write, grown, said):
    """It was an internal error, after all had been done."""
    write("m.conc", f"""
        fn grown(times: Int) -> Any {{ let mut x: Any = "x"; for _i in 0..times {{ x = {grown}; }} x }}
        fn main() -> Result<Nil, Any> {{ Err(grown({25 if "," in grown else 300})) }}
    """)
    code, out, err = cli("run", "m.conc")
    assert code == 1 and err.startswith(f"panic[P103]: {said}") and "at main (m.conc:3" in err
    assert '"end":"panic"' in record_of(cli, "m.conc").splitlines()[-1]


def record_of(cli, name):
    cli("run", name, "--record", "r.effects.jsonl")
    with open("r.effects.jsonl", encoding="utf-8") as file:
        return file.read()
