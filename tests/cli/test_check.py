"""`concerto check`: diagnostics as text and as JSON (O-9.12, O-9.15)."""

import json

WARNING = 'fn main() { let unused = 1; emit("a", 2); }\n'
ERROR = 'fn main() {\n\tlet _n: Int = true;\n\temit("a", missing);\n}\n'
WARNING_TEXT = """\
w.conc:1:17: warning[W0001]: unused variable `unused`
  1 | fn main() { let unused = 1; emit("a", 2); }
    |                 ^^^^^^
  help: write `_unused` if that is meant
"""
KEYS = ["code", "severity", "message", "file", "line", "column", "end_line", "end_column", "related", "help"]


def test_nothing_to_say(cli, write):
    assert cli("check", write("a.conc", 'fn main() { emit("a", 2); }')) == (0, "", "")
    assert cli("check", write("lib.conc", "pub fn one() -> Int { 1 }")) == (0, "", "")


def test_warnings(cli, write):
    write("w.conc", WARNING)
    assert cli("check", "w.conc") == (0, "", WARNING_TEXT)
    assert cli("check", "w.conc", "--deny-warnings") == (65, "", WARNING_TEXT)
    assert cli("check", "w.conc", "-q") == (0, "", "")


def test_all_errors_of_all_files(cli, write):
    code, out, err = cli("check", write("w.conc", WARNING), write("e.conc", ERROR))
    assert (code, out) == (65, "")
    assert err.startswith(WARNING_TEXT)
    places = [line.split(": ")[0] for line in err.splitlines() if line.startswith("e.conc:")]
    assert places == ["e.conc:2:16", "e.conc:3:12"]


def test_json(cli, write):
    code, out, err = cli("check", "--json", write("w.conc", WARNING), write("e.conc", ERROR))
    assert (code, err, out.count("\n")) == (65, "", 1)
    rows = json.loads(out)
    assert all(list(row) == KEYS for row in rows)
    assert [(row["severity"], row["file"], row["line"], row["column"]) for row in rows] == [
        ("warning", "w.conc", 1, 17),
        ("error", "e.conc", 2, 16),
        ("error", "e.conc", 3, 12),
    ]
    assert (rows[0]["code"], rows[0]["end_line"], rows[0]["end_column"]) == ("W0001", 1, 23)
    assert rows[0]["help"] == "write `_unused` if that is meant"


def test_json_without_diagnostics(cli, write):
    assert cli("check", "--json", write("a.conc", "fn main() { }")) == (0, "[]\n", "")
    write("w.conc", WARNING)
    assert cli("check", "--json", "w.conc").code == 0
    assert cli("check", "--json", "--deny-warnings", "w.conc").code == 65


def test_related_places_are_in_both_forms(cli, write):
    write("twice.conc", "fn f() { }\nfn f() { }\nfn main() { f(); }\n")
    code, out, err = cli("check", "twice.conc")
    assert code == 65
    assert "twice.conc:2:4: error[E1003]" in err
    assert "note: twice.conc:1:4: " in err
    (row,) = json.loads(cli("check", "--json", "twice.conc").out)
    (related,) = row["related"]
    assert (related["file"], related["line"], related["column"], related["end_column"]) == ("twice.conc", 1, 4, 5)


def test_an_unreadable_file_among_others(cli, write):
    code, _, err = cli("check", write("w.conc", WARNING), "gone.conc")
    assert code == 66
    assert err == WARNING_TEXT + "cannot read gone.conc: No such file or directory\n"


def test_a_file_that_cannot_be_read_keeps_nobody_from_checking_the_others(cli, write):
    write("w.conc", WARNING)
    assert cli("check", "gone.conc", "w.conc") == (66, "", "cannot read gone.conc: No such file or directory\n" + WARNING_TEXT)


def test_files_that_share_a_module_say_what_each_says_alone(cli, write):
    write("shared.conc", "pub fn f(n: Int) -> Int { let unused = 1; n }\n")
    write("one.conc", "use shared::f;\nfn main() { println(f(1)); }\n")
    write("two.conc", 'use shared::f;\nfn main() { println(f("")); }\n')
    alone = [cli("check", f"{name}.conc") for name in ("one", "two", "one")]
    assert [(run.code, "W0001" in run.err, "E2009" in run.err) for run in alone[:2]] == [(0, True, False), (65, False, True)]
    together = cli("check", "one.conc", "two.conc", "one.conc")
    assert (together.code, together.err) == (65, "".join(run.err for run in alone))
