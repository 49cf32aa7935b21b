"""`concerto test`: output, filters, which files, exit codes (O-8.23, O-8.24, O-9.16)."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time

import pytest

TWO = """\
@test("adds :: up")
fn adds() { assert_eq(1 + 1, 2); }
@test
fn other() {
    emit("seen", [1]);
    assert_eq(1, 2);
}
"""
PASSING = '@test fn fine() { }\n@test @expect_fail("no") fn wrong() { panic("no way"); }\n'


def test_output_of_a_failure(cli, write):
    write("t.conc", TWO)
    assert cli("test", "t.conc") == (
        1,
        "running 2 tests\n\n  PASS  adds :: up\n  FAIL  other\n\ntest result: FAILED. 1 passed, 1 failed\n\n"
        "failures:\n  other -- assertion failed: 1 != 2\n    at t.conc:6:5\n",
        "",
    )


def test_output_when_all_pass(cli, write):
    write("t.conc", PASSING)
    code, out, err = cli("test", "t.conc")
    assert (code, err) == (0, "")
    assert out == (
        "running 2 tests\n\n  PASS  fine\n  PASS  wrong (expected failure)\n\ntest result: ok. 2 passed, 0 failed\n"
    )


def test_quiet_prints_summary_and_failures(cli, write):
    write("t.conc", TWO)
    assert cli("test", "-q", "t.conc").out == (
        "test result: FAILED. 1 passed, 1 failed\n\nfailures:\n  other -- assertion failed: 1 != 2\n    at t.conc:6:5\n"
    )


def test_the_summary_begins_a_line(cli, write):
    write("t.conc", '@test("one") fn one() { print("hi"); }')
    assert cli("test", "-q", "t.conc").out == "hi\ntest result: ok. 1 passed, 0 failed\n"


def test_a_damaged_image_is_no_source(cli, write):
    write("t.conc", PASSING)
    told = "bad.concb: image rejected: V002: the file is no Concerto image\n"
    assert cli("test", "t.conc", write("bad.concb", b"\0no image")) == (74, "", told)


def test_debug_shows_emits(cli, write):
    write("t.conc", TWO)
    assert "        [emit:seen] [1]\n  FAIL  other\n" in cli("test", "--debug", "t.conc").out
    assert "emit:" not in cli("test", "t.conc").out


@pytest.mark.parametrize(("part", "ran"), [("up", ["adds :: up"]), ("o", ["other"]), ("", ["adds :: up", "other"])])
def test_filter(cli, write, part, ran):
    write("t.conc", TWO)
    rows = json.loads(cli("test", "--json", "--filter", part, "t.conc").out)
    assert [row["description"] for row in rows] == ran


def test_json(cli, write):
    write("t.conc", TWO)
    assert json.loads(cli("test", "--json", "t.conc").out)[1] == {
        "description": "other", "passed": False, "expected_failure": False, "failure": "assertion failed: 1 != 2",
        "at": "t.conc:6:5",
    }  # fmt: skip


@pytest.mark.parametrize("words", [["t.conc"], ["--filter", "nothing", "t.conc"]], ids=["none", "none matches"])
def test_no_test_is_a_failure(cli, write, words):
    write("t.conc", "fn main() { }\n" if len(words) == 1 else PASSING)
    code, out, _ = cli("test", *words)
    assert (code, out) == (1, "running 0 tests\n\n\ntest result: FAILED. 0 passed, 0 failed\n")


def test_the_whole_project(cli, write, tmp_path):
    """Every root below the manifest; modules are tested with the program they belong to, once."""
    (tmp_path / "src").mkdir()
    (tmp_path / ".hidden").mkdir()
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "src/main.conc"\n')
    write("src/main.conc", "mod parts;\n@test fn in_main() { assert_eq(parts::one(), 1); }\nfn main() { }\n")
    write("src/parts.conc", "pub fn one() -> Int { 1 }\n@test fn in_parts() { }\n")
    write("src/alone.conc", "@test fn in_alone() { }\n")
    write(".hidden/x.conc", "not a program")
    code, out, err = cli("test")
    assert (code, err) == (0, "")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("  PASS")] == ["in_alone", "in_parts", "in_main"]


def test_an_image_holds_its_tests(cli, write, tmp_path):
    write("t.conc", PASSING)
    cli("compile", "t.conc")
    (tmp_path / "t.conc").unlink()
    assert cli("test", "t.concb").out.endswith("test result: ok. 2 passed, 0 failed\n")


def test_compile_errors_come_before_any_test(cli, write):
    write("a.conc", PASSING)
    write("b.conc", "fn f() { x }")
    code, out, err = cli("test", ".")
    assert (code, out) == (65, "")
    assert "E1001" in err


MODEL = 'model M { provider: openai, base: "m" }\n'


@pytest.mark.parametrize("words", [["."], ["a.conc", "b.conc", "c.conc"], ["b.conc", "a.conc"]])
def test_a_circle_of_imports_is_compiled(cli, write, words):
    """Each file of a circle is a module of another one: still one of them is a root."""
    write("a.conc", "use b;\n@test fn in_a() { b::g(); }\npub fn f() { }\n")
    write("b.conc", "use a;\n@test fn in_b() { a::f(); }\npub fn g() { }\n")
    write("c.conc", "@test fn in_c() { }\n")
    ended = cli("test", *words)
    assert (ended.code, ended.out) == (65, "")
    assert ended.err.count("error[E1007]") == cli("check", "a.conc").err.count("error[E1007]") == 1


def test_what_imports_a_circle_is_its_only_root(cli, write):
    write("a.conc", "use b;\n")
    write("b.conc", "use a;\n")
    write("z.conc", "use a;\nfn main() { }\n")
    ended = cli("test", ".")
    assert (ended.code, ended.err.count("error[E1007]")) == (65, 1)


def test_the_tests_of_a_module_run_once(cli, write):
    write("a.conc", "pub fn f() { }\n@test fn in_a() { }\n")
    write("m.conc", "use a;\n@test fn in_m() { a::f(); }\n")
    write("z.conc", "use m;\n@test fn in_z() { }\n")
    assert cli("test", "a.conc", "m.conc", "z.conc", "a.conc").out.count("PASS") == 3


def test_a_file_that_is_named_in_two_ways_is_tested_once(cli, write):
    write("t.conc", PASSING)
    once = cli("test", "t.conc")
    assert once.out.startswith("running 2 tests\n") and cli("test", "t.conc", "./t.conc", ".") == once


def test_a_key_in_a_failure_is_not_shown(cli, write, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    write("t.conc", '@test fn f() { let key = std::env::require("OPENAI_API_KEY")?; panic("it is ${key}"); }\n')
    out = cli("test", "--allow-env=OPENAI_API_KEY", "t.conc").out
    assert "sk-secret" not in out and "f -- it is <secret OPENAI_API_KEY>" in out


def test_mocked_models_need_no_key(cli, write):
    write("t.conc", MODEL + '@test fn f() { mock M { response: "x" } assert_eq(M.execute("a")?.text, "x"); }\n')
    assert cli("test", "t.conc").code == 0


def test_waits_of_tests_take_no_time(cli, write):
    """The virtual clock, without --offline too (V-6.6): an hour of real time would outlast any test run."""
    write("t.conc", """
    async fn one() -> Int { std::time::sleep(1800000); 1 }
    @test fn waits() {
        let start = std::time::now_ms();
        let task = spawn one();
        std::time::sleep(3600000);
        assert_eq(await task, 1);
        assert(std::time::now_ms() - start >= 3600000);
    }""")
    assert cli("test", "t.conc").code == 0
    assert "waits -- time limit exceeded: 60 s (budget `seconds`)\n" in cli("test", "--max-seconds", "60", "t.conc").out
    write("t.conc", "@test fn computes() { loop { } }")
    out = cli("test", "--max-seconds", "0.02", "t.conc").out
    assert "computes -- time limit exceeded: 0.02 s (budget `seconds`)\n" in out


def test_a_real_provider_is_waited_for(cli, write):
    """A timeout of the request must not come at once because nothing else can run."""
    with slow_server(0.2) as url:
        write("t.conc", f"""
        connect lab {{ provider: "custom", base_url: "{url}", timeout: 30 }}
        model M {{ provider: lab, base: "m" }}
        @test fn asks() {{ assert_eq(M.execute("q")?.text, "hello"); std::time::sleep(1000); }}""")
        assert cli("test", "t.conc").out.endswith("1 passed, 0 failed\n")


@contextlib.contextmanager
def slow_server(seconds: float):
    """Answers every chat request with `hello` after a while."""
    reply = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": {}, "model": "m"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(seconds)
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_prints_stay_out_of_the_json(cli, write):
    write("t.conc", '@test fn prints() { print("a"); println("b"); }')
    code, out, err = cli("test", "--json", "t.conc")
    assert (code, len(json.loads(out)), err) == (0, 1, "ab\n")
    assert "ab\n  PASS  prints" in cli("test", "t.conc").out


def test_nothing_to_test_is_said(cli, write):
    code, out, err = cli("test")
    assert code == 2 and "no FILE given" in err and "ok" not in out
    write("Concerto.toml", "[project\n")
    assert "Concerto.toml:1:9: error[E4004]" in cli("test").err
    write("Concerto.toml", '[project]\nname = "a"\nversion = "1"\nentry = "t.conc"\n')
    assert "the `entry` of [project] is no file: t.conc" in cli("test").err
    write("t.conc", "fn main() { }")
    assert "no test found" in cli("test").err
    write("t.conc", PASSING)
    assert "no test found" not in cli("test").err
    assert "contains 'nothing'" in cli("test", "--filter", "nothing").err


def test_an_err_has_the_place_of_the_test(cli, write):
    test = '@test("keyless")\nfn a() {\n    let r = M.execute("x")?;\n    print(r.text);\n}\n'
    write("t.conc", 'model M { provider: openai, base: "m" }\n' + test)
    code, out, _ = cli("test", "t.conc")
    assert code == 1 and out.endswith("\n    at t.conc:4:13\n")


def test_what_nobody_answers_names_the_mock(cli, write):
    """O-8.27: the way out stands in the failure."""
    write("a.conc", '@test("asks") async fn asks() {\n    let ok: Bool = await emit("approve", 1)?;\n    assert(ok);\n}\n')
    ended = cli("test", "a.conc")
    assert ended.code == 1
    assert "nobody answers emits on approve; in a test write `mock emit { approve: … }`" in ended.out


@pytest.mark.parametrize("last", ["@test fn in_last() { }\n", ""], ids=["tests", "no tests"])
def test_a_program_is_compiled_once(cli, write, monkeypatch, last):
    """The modules of a program are read to learn whose they are, and compiled with it alone."""
    from concerto.compiler import pipeline

    compiled = []
    compile_source = pipeline.compile_source

    def counted(data, file, **more):
        compiled.append((file, more["emit"]))
        return compile_source(data, file, **more)

    monkeypatch.setattr(pipeline, "compile_source", counted)
    count = 12
    write("main.conc", "".join(f"mod m{i};\n" for i in range(count)) + "fn main() { }\n")
    for i in range(count - 1):
        write(f"m{i}.conc", f"use crate::m{i + 1};\npub fn f() {{ m{i + 1}::f(); }}\n")
    write(f"m{count - 1}.conc", f"pub fn f() {{ }}\n{last}")
    write("other.conc", "fn main() { }\n")
    ended = cli("test", ".")
    assert (ended.code, ended.out.count("PASS")) == ((0, 1) if last else (1, 0))
    assert compiled == [("main.conc", bool(last)), ("other.conc", False)]


def test_errors_of_a_program_without_tests_are_found(cli, write):
    write("a.conc", "use b;\nfn main() { b::f(); }\n")
    write("b.conc", "pub fn f() -> Int { true }\n")
    write("c.conc", PASSING)
    ended = cli("test")
    assert (ended.code, ended.out, ended.err.count("error[")) == (65, "", 1)


def test_a_module_in_a_folder_is_tested_with_its_program(cli, write, tmp_path):
    (tmp_path / "parts").mkdir()
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n')
    write("main.conc", "mod parts;\nfn main() { }\n")
    write("parts/mod.conc", "mod inner;\nmod written { @test fn in_written() { } }\n")
    write("parts/inner.conc", "@test fn in_inner() { }\n")
    assert cli("test").out.count("PASS") == 2
    assert cli("test", "parts").out.count("PASS") == 2


def test_standard_input_is_tested(cli):
    assert cli("test", "-", stdin=PASSING.encode()).out.endswith("2 passed, 0 failed\n")


def test_an_image_on_standard_input_is_tested(cli, write, tmp_path):
    write("t.conc", PASSING)
    assert cli("compile", "t.conc", "-o", "t.concb").code == 0
    image = (tmp_path / "t.concb").read_bytes()
    assert cli("test", "-", stdin=image).out.endswith("2 passed, 0 failed\n")
    assert cli("test", "-", "-", stdin=image).out.endswith("2 passed, 0 failed\n")
    assert cli("test", "-", "-", stdin=PASSING.encode()).out.endswith("2 passed, 0 failed\n")
