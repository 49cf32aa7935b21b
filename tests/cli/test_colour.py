"""Colours of what the command prints (O-9.50) and its line of progress (O-9.51)."""

from __future__ import annotations

import json
import sys

import pytest

ERROR = "\x1b[1;31merror[E1001]\x1b[0m"
WRONG = "fn main() { x }\n"
TESTS = '@test fn fine() { println("hello"); }\n@test fn bad() { assert(false); }\n'


@pytest.fixture
def terminal(monkeypatch):
    """Both streams as terminals."""
    monkeypatch.setenv("TERM", "xterm")
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(type(stream), "isatty", lambda stream: True)


@pytest.mark.parametrize(
    ("words", "variables", "on_terminal", "in_pipe"),
    [
        ((), {}, True, False),
        ((), {"NO_COLOR": "1"}, False, False),
        ((), {"NO_COLOR": ""}, True, False),
        ((), {"FORCE_COLOR": "1"}, True, True),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ((), {"TERM": "dumb"}, False, False),
        (("--color=always",), {"NO_COLOR": "1"}, True, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False, False),
        (("--color=auto",), {}, True, False),
    ],
)
def test_when_diagnostics_are_coloured(cli, write, monkeypatch, request, words, variables, on_terminal, in_pipe):
    write("a.conc", WRONG)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (ERROR in cli("check", "a.conc", *words).err) == in_pipe
    request.getfixturevalue("terminal")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (ERROR in cli("check", *words, "a.conc").err) == on_terminal
    assert (ERROR in cli("run", "a.conc", *words).err) == on_terminal


def test_a_choice_holds_for_one_command(cli, write):
    write("a.conc", WRONG)
    assert "\x1b" in cli("check", "--color=always", "a.conc").err
    assert "\x1b" not in cli("check", "a.conc").err
    assert cli("check", "--color=sometimes", "a.conc").code == 2


def test_how_a_run_ended_is_red(cli, write):
    write("p.conc", 'fn main() { panic("a: b"); }\n')
    write("e.conc", 'fn main() { throw RuntimeError::new("c: d"); }\n')
    first = cli("run", "--color=always", "p.conc").err.splitlines()[0]
    assert first.startswith("\x1b[1;31mpanic[") and first.endswith("]\x1b[0m: a: b")
    assert cli("run", "--color=always", "e.conc").err.splitlines()[0] == "\x1b[1;31merror\x1b[0m: c: d"


def test_outcomes_of_tests_are_coloured_and_json_is_not(cli, write):
    write("t.conc", TESTS)
    out = cli("test", "--color=always", "t.conc").out
    assert "  \x1b[32mPASS\x1b[0m  fine\n" in out and "  \x1b[1;31mFAIL\x1b[0m  bad\n" in out
    assert len(json.loads(cli("test", "--json", "--color=always", "t.conc").out)) == 2


def test_a_terminal_sees_which_test_runs(cli, write, terminal):
    """The line is gone before anything else is printed, and at the end."""
    write("t.conc", TESTS)
    code, out, err = cli("test", "--color=never", "t.conc")
    assert code == 1 and "hello\n  PASS  fine\n" in out
    assert err == "\r\x1b[K1/2  fine\r\x1b[K\r\x1b[K2/2  bad\r\x1b[K"


def test_elsewhere_there_is_no_progress(cli, write, monkeypatch):
    write("t.conc", TESTS)
    assert cli("test", "t.conc").err == ""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda stream: True)
    monkeypatch.setenv("TERM", "dumb")
    assert cli("test", "t.conc").err == ""


def test_progress_stays_on_one_line(cli, write, terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    write("t.conc", '@test("a long\\nname \\u{1b}[2J that goes on and on") fn fine() { }\n')
    err = cli("test", "t.conc").err
    assert err == "\r\x1b[K1/1  a long name \\…\r\x1b[K"
