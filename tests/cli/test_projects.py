"""Programs of several files on disk: the project root, links, places in messages (L-8.1.1, O-9.1, G-3.5, G-5.3)."""

import json
import os

import pytest

MAIN = "use a::f;\nfn main() { f(0); }\n"
A = 'pub fn f(n: Int) {\n    emit("out", 1 / n);\n}\n'


@pytest.fixture
def project(write):
    write("main.conc", MAIN)
    write("a.conc", A)
    return "main.conc"


MANIFEST = '[project]\nname = "p"\nversion = "0.1.0"\nentry = "main.conc"\n'


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[connections.foo]", "Concerto.toml:5:14: error[E4002]: [connections.foo] lacks `provider`"),
        ('[connections.foo]\nprovider = "custom"', "Concerto.toml:5:14: error[E4002]: [connections.foo] lacks `base_url`"),
        (
            '[connections.foo]\nprovider = "anthropic"\nproject = "x"',
            "Concerto.toml:7:1: error[E4006]: `project` of [connections.foo] is not carried by provider `anthropic`",
        ),
        ('[embedders.e]\nconnection = "opanai"\nmodel = "m"', "Concerto.toml:6:1: error[E4003]: unknown connection `opanai`"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run", "test"])
def test_a_table_that_is_not_whole_is_an_error_at_its_line(cli, write, verb, table, said):
    write("Concerto.toml", f"{MANIFEST}{table}\n")
    write("main.conc", "fn main() { }\n@test fn t() { }\n")
    ended = cli(verb, "main.conc")
    assert (ended.code, ended.err.count("error[")) == (65, 1)
    assert ended.err.startswith(said)


def test_a_table_is_whole_with_what_the_source_declares(cli, write):
    """Of the project's other files only the entry must hold the connections of embedders."""
    embedder = '[embedders.e]\nconnection = "foo"\nmodel = "m"\n'
    write("Concerto.toml", f"{MANIFEST}[connections.foo]\ntimeout = 5\n{embedder}")
    write("main.conc", 'connect foo { provider: "openai" }\nfn main() { }\n')
    assert cli("check", "main.conc") == (0, "", "")
    write("Concerto.toml", f"{MANIFEST}{embedder}")
    write("other.conc", "fn main() { }\n")
    assert cli("check", "main.conc", "other.conc") == (0, "", "")
    write("main.conc", "fn main() { }\n")
    assert cli("check", "main.conc").err.startswith("Concerto.toml:6:1: error[E4003]")


def test_traces_name_the_file(cli, project):
    code, _, err = cli("run", "--offline", project)
    assert code == 1
    assert "  at f (a.conc:2:17)\n  at main (main.conc:2:13)\n" in err


def test_diagnostics_name_the_file(cli, write, project):
    write("a.conc", "pub fn f(n: Int) { nothing }")
    code, _, err = cli("check", project)
    assert code == 65
    assert "a.conc:1:20: error[E1001]" in err


def test_images_do_not_depend_on_the_directory(cli, write, project, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    write("deep/er/main.conc", MAIN)
    write("deep/er/a.conc", A)
    assert cli("compile", "main.conc", "-o", "one.concb").code == 0
    assert cli("compile", str(tmp_path / "deep" / "er" / "main.conc"), "-o", "two.concb").code == 0
    assert (tmp_path / "one.concb").read_bytes() == (tmp_path / "two.concb").read_bytes()


def test_links_out_of_the_root_are_refused(cli, write, tmp_path):
    (tmp_path / "in").mkdir()
    write("in/main.conc", MAIN)
    write("a.conc", A)
    os.symlink("../a.conc", tmp_path / "in" / "a.conc")
    code, _, err = cli("check", "in/main.conc")
    assert code == 65
    assert "error[E1004]: `a.conc` cannot be read: it lies outside the project root" in err


def test_a_module_in_a_folder_that_cannot_be_listed_is_told(cli, write, tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    write("main.conc", MAIN)
    write("a/mod.conc", A)
    listed = os.listdir

    def refuse(folder):
        if os.path.basename(folder) == "a":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(os, "listdir", refuse)  # a test may run as root, whom no mode of a file keeps out
    code, _, err = cli("check", "main.conc")
    assert code == 65
    assert "error[E1004]: `a/mod.conc` cannot be read: Permission denied" in err


def test_links_inside_the_root_are_followed(cli, write, tmp_path):
    (tmp_path / "parts").mkdir()
    write("main.conc", MAIN)
    write("parts/x.conc", A)
    os.symlink("parts/x.conc", tmp_path / "a.conc")
    assert cli("check", "main.conc") == (0, "", "")


def test_the_root_is_the_directory_of_the_entry(cli, write, tmp_path):
    (tmp_path / "src" / "tools").mkdir(parents=True)
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "src/main.conc"\n')
    write("src/main.conc", MAIN)
    write("src/a.conc", A)
    write("src/tools/t.conc", "fn main() { a::f(0); nothing; }")
    code, _, err = cli("check", "src/tools/t.conc")
    assert code == 65
    assert err.startswith("src/tools/t.conc:1:22: error[E1001]") and "E1004" not in err


def test_output_names_files_from_the_working_directory(cli, write, tmp_path, monkeypatch):
    """Diagnostics, traces and failures of tests alike; an image holds names relative to the root (O-9.12, V-3.4)."""
    (tmp_path / "src" / "tools").mkdir(parents=True)
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "src/main.conc"\n[permission]\nnet = true\n')
    write("src/main.conc", 'mod tools;\nfn main() { let unused = 1; tools::part(0); }\n@test("t") fn t() { tools::part(0); }\n')
    write("src/tools/mod.conc", "pub fn part(n: Int) -> Int { 1 / n }\n")
    for folder, main, manifest in ((".", "src/main.conc", "Concerto.toml"), ("src/tools", "../main.conc", "../../Concerto.toml")):
        monkeypatch.chdir(tmp_path / folder)
        err = cli("check", main).err
        assert f"\n{main}:2:17: warning[W0001]" in err and err.startswith(f"{manifest}:5:2: error[E4001]")
        assert {row["file"] for row in json.loads(cli("check", "--json", main).out)} == {manifest, main}
    monkeypatch.chdir(tmp_path)
    write("Concerto.toml", '[project]\nname = "p"\nversion = "1"\nentry = "src/main.conc"\n')
    assert cli("compile", "-q", "src/main.conc", "-o", "p.concb").code == 0
    for folder, main, inner in ((".", "src/main.conc", "src/tools/mod.conc"), ("src/tools", "../main.conc", "mod.conc")):
        monkeypatch.chdir(tmp_path / folder)
        trace = [f"  at part ({inner}:1:30)", f"  at main ({main}:2:29)"]
        assert [line.replace("tools::", "") for line in cli("run", "-q", main).err.splitlines()[1:]] == trace
        assert f"    at {inner}:1:30\n" in cli("test", main).out
        assert "(tools/mod.conc:1:30)" in cli("run", os.path.relpath(tmp_path / "p.concb")).err
        write("src/bad.conc", "fn")
        bad = os.path.relpath(tmp_path / "src" / "bad.conc")
        assert cli("fmt", bad).err.startswith(f"{bad}:1:") and cli("compile", "--emit-ast", bad).err.startswith(f"{bad}:1:")


def test_without_a_manifest_it_is_the_directory_of_the_file(cli, write, tmp_path):
    (tmp_path / "tools").mkdir()
    write("a.conc", A)
    write("tools/t.conc", "fn main() { a::f(0); }")
    code, _, err = cli("check", "tools/t.conc")
    assert code == 65
    assert "t.conc:1:13: error[E1004]" in err and "tried `a.conc` and `a/mod.conc`" in err


def test_case_of_names_counts(cli, write, tmp_path, monkeypatch):
    """Where the system ignores case too: there it finds `a.conc` under the name `A.conc`."""
    write("main.conc", "use A::f;\nfn main() { f(0); }\n")
    write("a.conc", A)
    isfile, asked = os.path.isfile, []

    def ignores_case(path):
        asked.append(os.path.basename(path))
        return asked[-1] == "A.conc" or isfile(path)

    monkeypatch.setattr(os.path, "isfile", ignores_case)
    code, _, err = cli("check", "main.conc")
    assert code == 65 and "A.conc" in asked
    assert err.startswith("main.conc:1:5: error[E1004]: unresolved path `A::f`: unknown `A`\n")


def test_source_on_stdin_has_no_modules(cli, project):
    assert cli("check", "main.conc").code == 0
    code, _, err = cli("check", "-", stdin=MAIN.encode())
    assert code == 65
    assert "stdin.conc:1:5: error[E1004]" in err


def test_a_file_too_large_is_refused(cli, write, project):
    write("a.conc", "//" + "x" * (8 * 1024 * 1024))
    code, _, err = cli("check", project)
    assert code == 65
    assert "a.conc:1:1: error[E0114]" in err


GREETS = '[project]\nname = "%s"\nversion = "1"\nentry = "main.conc"\n[permissions]\nfs_read = ["own.txt"]\n'


def test_the_nearest_manifest_counts_and_its_directory_is_the_root(cli, write, tmp_path, monkeypatch):
    """O-9.1; none is legal."""
    reads = 'fn main() { print(std::fs::read_file("%s").is_ok()); }'
    write("main.conc", reads % "own.txt")
    write("own.txt", "")
    assert cli("run", "main.conc").out == "false"  # no manifest, nothing granted
    write("Concerto.toml", GREETS % "outer")
    assert cli("run", "main.conc").out == "true"
    (tmp_path / "inner" / "src").mkdir(parents=True)
    write("inner/src/main.conc", reads % "own.txt")
    assert cli("run", "inner/src/main.conc").out == "true"  # the manifest above, whose paths start at its directory
    write("inner/Concerto.toml", GREETS % "inner")
    write("inner/own.txt", "")
    assert cli("run", "inner/src/main.conc").out == "false"
    write("inner/src/main.conc", reads % "inner/own.txt")
    assert cli("run", "inner/src/main.conc").out == "true"


@pytest.mark.parametrize(
    ("table", "place", "help"),
    [
        ('[stores.notes]\nkind = "sqlit"', "Concerto.toml:6:1: error[E4004]: `kind` of [stores.notes]", "did you mean `sqlite`?"),
        ("[stores.notes]", "Concerto.toml:5:9: error[E4004]: `kind` of [stores.notes]", 'write `kind = "sqlite"`'),
        ('[stores.notes]\nkind = "postgres"', "Concerto.toml:5:9: error[E4002]: [stores.notes] lacks `url_env`", "url_env"),
        ('[stores.notes]\nkind = "sqlite"\npath = ""', "Concerto.toml:7:1: error[E4004]: `path` of [stores.notes]", "is empty"),
        ('[stores.notes\nkind = "redis"', "Concerto.toml:5:14: error[E4004]: Concerto.toml is no TOML", "a line is"),
    ],
)
def test_a_memory_whose_store_has_a_mistake_is_right_itself(cli, write, table, place, help):
    write("Concerto.toml", f"{MANIFEST}{table}\n")
    write("main.conc", 'memory m: Memory = Memory::new(20).store("notes");\nfn main() { println(m.len()); }\n')
    ended = cli("check", "main.conc")
    assert (ended.code, ended.err.count("error[")) == (65, 1), ended.err
    assert ended.err.startswith(place) and help in ended.err, ended.err


@pytest.mark.parametrize(
    ("provider", "help"),
    [
        ("acme", 'write `provider: "custom", base_url: "https://api.example.com/v1"`'),
        ("anthropc", 'write `provider: "anthropic"`'),
        ("claude", 'write `provider: "anthropic"`'),
    ],
)
def test_a_provider_that_is_none_of_ours_speaks_the_protocol_of_openai(cli, write, provider, help):
    write("main.conc", f'connect c {{ provider: "{provider}", api_key: env("K") }}\nfn main() {{ }}\n')
    assert help in cli("check", "main.conc").err
