"""Program files: front matter, chunks, files, expectations and the errors of the suite (C-3, C-4, C-5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.blocks import blocks_of
from conformance.keys import distance_at_most_1
from conformance.notation import Malformed, compact, memory_items, reply
from conformance.program import parse, wire_files
from conformance.records import Program, SuiteError

HEAD = "// clause: L-1.1.1\n// level: 1\n"


def one(body: str, head: str = HEAD) -> Program:
    (program,) = parse(head + body, "area/name.conc")
    return program


def fails(body: str, reason: str, head: str = HEAD) -> None:
    with pytest.raises(SuiteError, match=reason):
        parse(head + body, "area/name.conc")


def test_the_example_of_the_specification_is_read_whole() -> None:
    text = (
        '// clause: O-2.51\n// also: O-2.49, O-3.11\n// level: 4\n// reply: text "ninety"\n// reply: text {"n": 90}\n'
        'model M { provider: openai, base: "m-1" }\nfn main() {\n    emit("out", s.n);    // emit: out 90\n}\n'
        '// calls: M = 2\n// request 2: messages[-1].content contains "grade it"\n'
        "// request 2: messages[:-1] same as 1\n"
        '// memory: log = [user "grade it", assistant "{\\"n\\": 90}"]\n'
    )
    (program,) = parse(text, "x.conc")
    assert program.clauses == ("O-2.51", "O-2.49", "O-3.11")
    assert [r.text for r in program.replies[""]] == ["ninety", '{"n": 90}']
    assert program.emits[0].either == (("out", "90"),) and program.emits[0].at == 8
    assert program.calls == [("M", 2, 10)]
    assert [(r.path, r.operator, r.operand) for r in program.requests] == [
        ("messages[-1].content", "contains", '"grade it"'),
        ("messages[:-1]", "same as", "1"),
    ]
    assert program.memory[0].items == ('user "grade it"', 'assistant "{\\"n\\": 90}"')


def test_expectations_stand_in_comments_only() -> None:
    program = one('let a = "// emit: a 1"; // emit: b 2\nlet r = r#"\n// emit: c 3\n"#;\n/* // emit: d 4 */\n')
    assert [emit.either[0] for emit in program.emits] == [("b", "2")]


@pytest.mark.parametrize(
    "code",
    [
        'let s = "${ f("// emit: no 1") }";',
        "let s = '// emit: no 1';",
        "/* a /* // emit: no 1 */ b */",
        "/// emit: no 1\n",
        'let s = """\n// emit: no 1\n""";',
        'let s = "\\" // emit: no 1";',
    ],
)
def test_what_looks_like_a_comment_inside_other_tokens_is_none(code: str) -> None:
    assert len(one(code + " // emit: yes 1\n").emits) == 1


def test_a_label_does_not_hide_a_comment() -> None:
    program = one("'a: for x in xs { break 'a; } // emit: a 1\n'b: loop { } // emit: b 1\n")
    assert len(program.emits) == 2


def test_an_unterminated_string_ends_at_its_line() -> None:
    program = one('let s = "abc\n// error-1: E0004 @9\n')
    assert (program.diagnostics[0].line, program.diagnostics[0].column) == (3, 9)


def test_one_line_ends_in_several_expectations() -> None:
    program = one('emit("u", "http://a"); // emit: u "a // emit: b" // emit: c 2 // only text\n')
    assert [emit.either[0] for emit in program.emits] == [("u", '"a // emit: b"'), ("c", "2")]


def test_chunks_share_clause_also_and_level_unless_repeated() -> None:
    text = HEAD + "// emit: a 1\n//=====\n// emit: a 2\n//=====\n// clause: L-2.1.1\n// level: 2\n// emit: a 3\n"
    first, second, third = parse(text, "x.conc")
    assert (first.ident, second.ident, third.ident) == ("x.conc#1", "x.conc#2", "x.conc#3")
    assert (second.clause, second.level) == ("L-1.1.1", 1)
    assert (third.clause, third.level) == ("L-2.1.1", 2)
    assert second.emits[0].at == 5


def test_further_files_have_their_own_lines() -> None:
    program = one("mod a; // emit: x 1\n//----- sub/a.conc\nfn f() {}\nbad // error: E1001\n")
    assert list(program.files) == ["main.conc", "sub/a.conc"]
    assert program.files["sub/a.conc"] == "fn f() {}\nbad // error: E1001\n"
    wanted = program.diagnostics[0]
    assert (wanted.file, wanted.line, wanted.at) == ("sub/a.conc", 2, 6)


def test_shifted_expectations_and_positions() -> None:
    head = HEAD + "// error: E0006 parse @5:9\n"
    program = one("\n\n// error+1: E0101\nx\n// warn-1: W0003\n", head)
    assert [(d.severity, d.line, d.column) for d in program.diagnostics] == [
        ("error", 5, 9),
        ("error", 7, None),
        ("warning", 7, None),
    ]


def test_a_diagnostic_on_a_line_of_its_own_needs_a_position() -> None:
    fails("x\n// error: E0101\n", "on a line of its own")
    fails("// error: E0101\nx\n", "on a line of its own")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("// colour: red\n", "unknown key"),
        ("x // emits: a 1\n", "close to 'emit'"),
        ("x // Error: E0101\n", "close to 'error'"),
        ("x // requst 1: a = 1\n", "close to 'request'"),
        ("// emit: a\n", "payload"),
        ("// emit: a {1}\n", "JSON"),
        ("// level: 7\n", "0 to 6"),
        ("// needs: fs=all\n", "no permission"),
        ("// error: 2009\n", "no code"),
        ("// reply: says hello\n", "begins with"),
        ("// request: a = 1\n", "number"),
        ("// mode: fast\n", "run, check or test"),
        ("// clause: L-1.1.1, L-1.1.2\n", "one clause"),
    ],
)
def test_errors_of_the_suite(line: str, reason: str) -> None:
    fails(line + "// emit: a 1\n", reason)


def test_text_comments_are_text() -> None:
    program = one("fn main() { } // Note: this is text\n// the answer is: 42\n// emit: a 1\n")
    assert len(program.emits) == 1


def test_every_program_demands_more_than_ok() -> None:
    fails("fn main() {}\n", "ok alone")
    fails("fn main() {}\n// exit: 0\n", "ok alone")
    fails("fn main() {}\n// calls: M = 0\n", "ok alone")
    assert one("// exit: 1\n").exit == ((1,), 3)


def test_a_program_needs_clause_and_level() -> None:
    fails("// emit: a 1\n", "no clause", "// level: 1\n")
    fails("// emit: a 1\n", "no level", "// clause: L-1.1.1\n")


def test_a_name_is_needed_when_several_models_are_declared() -> None:
    models = "model A { provider: openai }\nmodel B { provider: openai }\n"
    fails(models, "needs a name", HEAD + '// reply: text "x"\n// emit: a 1\n')
    assert one(models, HEAD + '// reply A: text "x"\n// emit: a 1\n').replies["A"]
    block = f'```concerto\n// run\n// reply: text "x"\n{models}fn main() {{ emit("a", 1); }} // emit: a 1\n```\n'
    programs, errors = blocks_of(block, Path("a.md"))
    assert errors == [] and programs[0].replies[""]


def test_an_answer_fails_as_on_the_command_line() -> None:
    """C-4.2, O-5.39"""
    answers = '// answer: ask fault no-listener\n// answer: ask fault "no pen"\n// answer: ask fault failed "shut"\n'
    lines = one("// emit: a 1\n", HEAD + answers).scripts["answer", "ask"]
    failures = [{"kind": "no-listener"}, {"kind": "failed", "message": "no pen"}, {"kind": "failed", "message": "shut"}]
    assert [line.body for line in lines] == failures


def test_key_variables_hold_test_key() -> None:
    source = 'connect lab { provider: "custom", api_key: env("LAB_KEY"), headers: { a: env("H") } }\n'
    program = one(source, HEAD + '// env: OPENAI_API_KEY ""\n// emit: a 1\n')
    assert (program.env["LAB_KEY"], program.env["H"], program.env["OPENAI_API_KEY"]) == ("test-key", "test-key", "")


def test_unordered_groups_are_adjacent_lines() -> None:
    program = one("a // emit~: x 1\nb // emit~: x 2\nc // emit: y 1\nd // emit~: x 3\n")
    groups = [emit.group for emit in program.emits]
    assert groups[0] == groups[1] is not None and groups[2] is None and groups[3] not in (None, groups[0])


def test_alternatives() -> None:
    program = one("// emit: either out 1 | out [2 | 3]\n".replace("[2 | 3]", '"a | b"'))
    assert program.emits[0].either == (("out", "1"), ("out", '"a | b"'))


def test_bytes_that_are_no_utf8_travel_as_base64() -> None:
    text = (HEAD + "// emit: a 1\n").encode() + b"\xff\n"
    (program,) = parse(text.decode("utf-8", errors="surrogateescape"), "x.conc")
    assert set(wire_files(program)["main.conc"]) == {"base64"}


def test_a_level_0_program_of_diagnostics_alone_is_checked() -> None:
    head = HEAD.replace("level: 1", "level: 0")
    assert one("x // error: E0101\n", head).operation == "check"
    assert one("x // emit: a 1\n", head).operation == "run"
    assert one("x // error: E0101\n").operation == "run"


def test_carriage_returns_and_marks_stay_in_the_source() -> None:
    (program,) = parse("\ufeff" + (HEAD + "// emit: a 1\n").replace("\n", "\r\n"), "x.conc")
    assert program.files["main.conc"].startswith("\ufeff//") and "\r\n" in program.files["main.conc"]


def test_replies() -> None:
    assert reply('text "hi" usage=5/3 after=300ms x2')[1] == reply('text "hi" usage=5/3 after=300ms')[0]
    (calls,) = reply('call T__m {"a": 1} & call U__n {} #x')
    assert calls.calls == (("T__m", '{"a": 1}', None), ("U__n", "{}", "x"))
    (stream,) = reply('stream "a" "b" fault reset')
    assert stream.chunks == ("a", "b") and stream.fault == (("kind", "reset"),)
    (fault,) = reply("fault 429 retry-after=2")
    assert dict(fault.fault or ()) == {"kind": "status", "status": 429, "retry_after": 2}
    assert reply('refusal "no"')[0].finish == "refusal"
    for bad in ("text hi", "fault odd", "text 1 2", 'text "a" retry-after=2'):
        with pytest.raises(Malformed):
            reply(bad)


def test_payloads_are_compared_as_characters() -> None:
    assert compact('{ "a" : [ 1, 2.0 ] , "b c": "d  e" }') == '{"a":[1,2.0],"b c":"d  e"}'
    assert compact("4") != compact("4.0")


def test_memory_lists() -> None:
    items = memory_items('[user "a, b", call T__m {"x": 1} #c1, result #c1 "ok"]')
    assert items == ('user "a, b"', 'call T__m {"x":1} #c1', 'result #c1 "ok"')
    assert memory_items("[]") == ()


def test_edit_distance() -> None:
    near = [("emit", "emits"), ("emit", "emt"), ("emit", "emti"), ("emit", "exit"), ("emit", "emit")]
    assert all(distance_at_most_1(a, b) for a, b in near)
    assert not any(distance_at_most_1(a, b) for a, b in [("emit", "omits"), ("note", "now"), ("text", "exit")])


def test_blocks_of_the_specification_are_programs() -> None:
    text = """# Title
```concerto
emit("out", 1);   // emit: out 1
bad               // error: E0101
```
```
not this one
```
```concerto
// run
fn main() { emit("out", 1); } // emit: out 1
```
"""
    (checked, run), errors = blocks_of(text, Path("a.md"))
    assert errors == []
    assert (checked.ident, checked.operation, checked.emits) == ("docs/spec/a.md:3", "check", [])
    assert (checked.diagnostics[0].line, checked.diagnostics[0].at) == (2, 4)
    assert (run.operation, run.emits[0].at, run.level) == ("run", 11, 4)
