"""Flags win over the manifest, each of them (O-9.9)."""

import pytest

PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n'
LOOP = "fn main() { for _ in 0..20000 { } }\n"
SLEEP = "fn main() { std::time::sleep(3000); }\n"
READ = 'fn main() { println(std::fs::read_file("in/a.txt").is_ok()); }\n'
CASES = {
    "steps": ("[budgets]\nsteps = 1000\n", LOOP, "panic[P101]", ("--max-steps", "1000000")),
    "steps, the other way": ("[budgets]\nsteps = 1000000\n", LOOP, "", ("--max-steps", "1000")),
    "seconds": ("[budgets]\nseconds = 1\n", SLEEP, "panic[P102]", ("--max-seconds", "60")),
    "seconds, the other way": ("[budgets]\nseconds = 60\n", SLEEP, "", ("--max-seconds", "1")),
}


@pytest.mark.parametrize("name", CASES)
def test_budgets(cli, write, name):
    lines, source, panic, flags = CASES[name]
    write("Concerto.toml", PROJECT + lines)
    write("main.conc", source)
    plain, flagged = cli("run", "--offline"), cli("run", "--offline", *flags)
    assert (panic in plain.err and plain.code == 1) if panic else plain.code == 0
    assert flagged.code == (0 if panic else 1)


def test_the_entry(cli, write):
    write("Concerto.toml", PROJECT)
    write("main.conc", 'fn main() { println("entry"); }\n')
    write("other.conc", 'fn main() { println("named"); }\n')
    assert cli("run", "--offline").out == "entry\n"
    assert cli("run", "--offline", "other.conc").out == "named\n"


def test_permissions(cli, write, tmp_path):
    (tmp_path / "in").mkdir()
    write("in/a.txt", "a")
    write("main.conc", READ)
    write("Concerto.toml", PROJECT + "[permissions]\nfs_read = []\n")
    assert cli("run", "--offline").err.count("denied") + cli("run", "--offline").out.count("false") >= 1
    assert cli("run", "--offline", "--allow-fs-read=in").out == "true\n"
