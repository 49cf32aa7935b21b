"""`concerto test --junit OUT` (O-9.53)."""

from __future__ import annotations

import xml.etree.ElementTree as tree

TWO = '@test("adds <up> & \\u{1b}") fn adds() { }\n@test @expect_fail fn wrong() { panic("no"); }\n'
BAD = '@test(cases: [1, 2])\nfn one(n: Int) {\n    assert_eq(n, 1, "a < b \\u{0}");\n}\n'


def test_what_a_build_server_reads(cli, write, tmp_path):
    write("a.conc", TWO)
    write("b.conc", BAD)
    ended = cli("test", "--junit", "out.xml", "a.conc", "b.conc")
    assert ended.code == 1 and "3 passed, 1 failed" in ended.out
    root = tree.fromstring((tmp_path / "out.xml").read_bytes())
    assert root.tag == "testsuites" and {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4", "failures": "1", "errors": "0",
    }  # fmt: skip
    first, second = root
    assert [suite.get("name") for suite in root] == ["a.conc", "b.conc"] and first.get("failures") == "0"
    assert [case.get("name") for case in first] == ["adds <up> & \ufffd", "wrong"]
    passed, failed = second
    assert (passed.get("classname"), passed.get("name"), len(passed)) == ("b.conc", "one 1", 0)
    assert float(passed.get("time")) >= 0 and float(root.get("time")) >= float(second.get("time"))
    [failure] = failed
    assert failure.get("message") == "assertion failed: a < b \ufffd: 2 != 1"
    assert failure.text.endswith("\n    at b.conc:3:5") and (failed.get("file"), failed.get("line")) == ("b.conc", "3")


def test_it_stands_beside_the_other_outputs(cli, write, tmp_path):
    write("a.conc", TWO)
    ended = cli("test", "--json", "--junit", "out.xml", "a.conc")
    assert ended.code == 0 and ended.out.startswith("[{") and (tmp_path / "out.xml").is_file()
    ended = cli("test", "--junit", "no/such/out.xml", "a.conc")
    assert ended.code == 1 and ended.err == "cannot write no/such/out.xml: No such file or directory\n"


def test_programs_that_do_not_compile(cli, write, tmp_path):
    write("a.conc", TWO)
    write("b.conc", "fn main() {\n    println(nmae);\n    let x: Int = \"<\";\n}\n")
    (tmp_path / "out.xml").write_text("of yesterday")
    ended = cli("test", "--junit", "out.xml", "a.conc", "b.conc")
    assert ended.code == 65 and ended.out == ""
    root = tree.fromstring((tmp_path / "out.xml").read_bytes())
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")
    [suite] = root
    [case] = suite
    [error] = case
    assert (suite.get("name"), case.get("name")) == ("b.conc", "compiles")
    assert error.get("message") == "b.conc:2:13: error[E1001]: undefined name `nmae`"
    assert error.text.splitlines()[1].startswith("b.conc:3:18: error[E2001]")


def test_what_a_test_prints_ends_its_line(cli, write):
    write("a.conc", '@test("one") fn one() { print("a"); print("b"); }\n@test("two") fn two() { println("c"); }\n')
    assert cli("test", "a.conc").out.splitlines()[2:6] == ["ab", "  PASS  one", "c", "  PASS  two"]
