"""Memories of projects on disk: stores, defaults of the manifest, events, what `inspect` shows (M-2.12, M-2.13, M-6.26, M-8)."""

import contextlib
import json
import sqlite3

import pytest

PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n'
PROGRAM = """memory log: Memory = Memory::new()%s;
log.append("system", "s");
model M { provider: offline, memory: log }
fn main() {
    M.execute("hello")?;
    println(log.len());
}
"""


def test_a_durable_memory_outlives_the_session(cli, write, tmp_path):
    """M-8.2, M-8.5, M-2.10: turns of every session, and what the memory begins with only once."""
    write("main.conc", PROGRAM % '.store("durable")')
    assert [cli("run", "--offline", "main.conc").out for _ in range(3)] == ["3\n", "5\n", "7\n"]
    with contextlib.closing(sqlite3.connect(tmp_path / ".concerto" / "memory.db")) as file:
        runs = [run for (run,) in file.execute("SELECT run FROM turn")]
    assert len(set(runs)) == 3


def test_a_store_of_the_manifest_has_its_own_file(cli, write, tmp_path):
    """M-8.3"""
    write("Concerto.toml", PROJECT + '[stores.notes]\nkind = "sqlite"\npath = "kept/notes.db"\n')
    write("main.conc", PROGRAM % '.store("notes", compress: true)')
    assert cli("run", "--offline", "main.conc").out == "3\n"
    assert cli("run", "--offline", "main.conc").out == "5\n"
    assert (tmp_path / "kept" / "notes.db").exists() and not (tmp_path / ".concerto").exists()


def test_the_namespace_is_part_of_the_key(cli, write):
    """M-7.1: the project's name, unless [memory] says another."""
    write("main.conc", PROGRAM % '.store("durable")')
    for manifest, kept in ((PROJECT, "3\n"), (PROJECT + '[memory]\nnamespace = "q"\n', "3\n"), (PROJECT, "5\n")):
        write("Concerto.toml", manifest)
        assert cli("run", "--offline", "main.conc").out == kept


def test_defaults_of_the_manifest_are_steps_left_out(cli, write):
    """M-2.12, M-13.78"""
    write("Concerto.toml", PROJECT + '[memory.defaults]\nretain = 2\non_conflict = "Reject"\n')
    write("main.conc", PROGRAM % "")
    assert cli("run", "--offline", "main.conc").out == "2\n"
    assert '"on_conflict":"Reject"' in cli("inspect", "main.conc", "--json").out.replace(" ", "")
    write("main.conc", PROGRAM % ".retain(9)")
    assert cli("run", "--offline", "main.conc").out == "3\n"


def test_the_fields_of_a_block_come_before_defaults(cli, write):
    """M-2.12, M-2.26: `tools: false` is a field too, and a summary of a block is completed."""
    defaults = 'tools = true\nretain = 2\nsummary = { model = "M", every = 3 }\n'
    write("Concerto.toml", f"{PROJECT}[memory.defaults]\n{defaults}")
    block = "memory log { tools: false, summary: { every: 5 } } memory all {}"
    write("main.conc", f"model M {{ provider: offline }} {block} fn main() {{ println(log.len() + all.len()); }}")
    log, every = json.loads(cli("inspect", "main.conc", "--json").out)["memories"]
    assert log["max_messages"] == 2 and log["steps"] == {"summary": {"every_turns": 5, "model": "M"}}
    assert every["steps"] == {"summary": {"every_turns": 3, "model": "M"}, "tools": True}


SUMMARISING = """model Shortener { provider: offline }
memory log: Memory = Memory::new()%s;
model M { provider: offline, memory: log }
fn main() {
    M.execute("hello")?;
    println(log.view("q").map(|m| m.content));
}
"""


def test_a_summary_of_the_manifest_is_overridden_in_part(cli, write):
    """M-9.24, M-9.23, M-13.86, M-13.87"""
    said = 'summary = { model = "Shortener", every = 1, inject = "Prompt", prompt = "Shorten.", text = "({})" }'
    write("Concerto.toml", PROJECT + f'[memory.defaults]\nroles = ["Assistant"]\n{said}\n')
    write("main.conc", SUMMARISING % "")
    whole = "offline: Shorten.  assistant: offline: hello"
    assert cli("run", "--offline", "main.conc").out == f"[offline: hello, ({whole})\n\nq]\n"
    write("main.conc", SUMMARISING % ".summary(inject: Suffix).roles([User])")
    whole = "offline: Shorten.  user: hello"
    assert cli("run", "--offline", "main.conc").out == f"[hello, ({whole}), q]\n"
    write("main.conc", SUMMARISING % '.summary(|_p, new| "${new.len()}", every: 1)')
    assert cli("run", "--offline", "main.conc").out == "[[summary] 1, offline: hello, q]\n"
    assert '"text":"({})"' not in cli("inspect", "main.conc", "--json").out.replace(" ", "")
    assert '"memory":"log"' in cli("inspect", "main.conc", "--json").out.replace(" ", "")


def test_a_table_of_its_own_says_the_summary_too(cli, write):
    """M-9.24: a name of the host, and an error that names its place."""
    write("Concerto.toml", PROJECT + '[memory.defaults.summary]\nby = "notes"\nevery = "1h"\nfrom = "Buffer"\nrole = "User"\n')
    write("main.conc", SUMMARISING % ".window(4)")
    (found,) = json.loads(cli("inspect", "main.conc", "--json").out)["memories"]
    assert found["steps"]["summary"] == {"every_ms": 3600000, "from": "Buffer", "host": "notes", "role": "User"}
    write("Concerto.toml", PROJECT + '[memory.defaults]\nsummary = { model = "Shrotener" }\n')
    ended = cli("check", "main.conc")
    assert ended.code == 65 and "Concerto.toml:6:1: error[E4508]" in ended.err and "did you mean `Shortener`" in ended.err


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ('[memory.defaults]\nroles = ["Users"]', "E4004]: `roles` of [memory.defaults] is an array of User, Assistant"),
        ("[memory.defaults]\nsummary = 3", "E4004]: `summary` of [memory.defaults] is a table"),
        ("[memory.defaults]\nsummary = { every = 3 }", "E4514]: `summary` of [memory.defaults] names who summarises"),
        ('[memory.defaults]\nsummary = { by = "a", model = "M" }', "E4514]: `summary` of [memory.defaults] names who summarises"),
        ('[memory.defaults]\nsummary = { by = "a", evry = 1 }', "E4502]: `summary` of [memory.defaults] has no key `evry`"),
        ('[memory.defaults]\nsummary = { by = "a", every = 0 }', "E4004]: `every` in `summary` of [memory.defaults] is a number"),
        ('[memory.defaults]\nsummary = { by = "a", inject = "Top" }', "E4004]: `inject` in `summary` of [memory.defaults] is"),
        ('[memory.defaults]\nsummary = { by = "a", text = "so" }', "E4004]: `text` in `summary` of [memory.defaults] is a"),
        ("[memory.defaults]\nretain = 0", "E4004]: `retain` of [memory.defaults] is an integer of at least 1"),
        ("[memory.defaults]\nretian = 3", "E4502]: [memory.defaults] has no step `retian`"),
        ("[memory.defaults]\nstore = \"nowhere\"", 'E4508]: unknown store "nowhere"'),
        ("[memory]\nnames = 1", "E4001]: [memory] has no key `names`"),
        ("[stores.s]\nkind = \"paper\"", "E4004]: `kind` of [stores.s] is one of"),
        ("[stores.s]\nkind = \"redis\"", "E4002]: [stores.s] lacks `url_env`"),
        ("[stores.s]\nkind = \"sqlite\"\nfile = \"x\"", "E4001]: [stores.s] has no key `file`"),
        ("[embedders]\ne = 1", "E4004]: `e` is a table: write [embedders.e]"),
        ("[embedders.e]\nmodell = \"x\"", "E4001]: [embedders.e] has no key `modell`"),
        ("[embedders.e]\nkind = \"paper\"", "E4004]: `kind` of [embedders.e] is \"host\""),
        ("[embedders.e]\nconnection = \"openai\"\nmodel = 1", "E4004]: `model` of [embedders.e] is a string"),
        ("[embedders.offline]\nkind = \"host\"", "E4004]: `offline` is built in"),
    ],
)
def test_a_manifest_that_says_no_memory(cli, write, table, error):
    """O-9.8, M-8.3"""
    write("Concerto.toml", PROJECT + table + "\n")
    write("main.conc", PROGRAM % "")
    ended = cli("check", "main.conc")
    assert ended.code == 65 and error in ended.err


@pytest.mark.parametrize("kind", ["host", 'redis"\nurl_env = "FAR'])
def test_compress_is_of_stores_that_deflate(cli, write, kind):
    """M-8.8: nothing that is said and does nothing."""
    write("Concerto.toml", PROJECT + f'[stores.far]\nkind = "{kind}"\n')
    write("main.conc", PROGRAM % '.store("far", compress: true)')
    assert "error[E4507]: `compress` is of stores of the kinds sqlite and postgres" in cli("check", "main.conc").err


@pytest.mark.parametrize(("kind", "keeps"), [
    ("sqlite", True), ('postgres"\nurl_env = "FAR', True), ("host", False), ('redis"\nurl_env = "FAR', False),
])  # fmt: skip
def test_which_stores_keep_an_index(cli, write, kind, keeps):
    """O-1.241"""
    write("Concerto.toml", PROJECT + f'[stores.far]\nkind = "{kind}"\n')
    write("main.conc", 'index docs: Index<String> = Index::of().store("far");\nfn main() { emit("n", docs.len()); }\n')
    ended = cli("check", "main.conc")
    name = kind.partition('"')[0]
    refused = f"error[E4508]: an index is kept in SQLite or PostgreSQL, and the store far is of kind {name}"
    assert (refused in ended.err) != keeps and (ended.code == 0) == keeps
    assert ("help: name a store of kind sqlite or postgres" in ended.err) != keeps
    write("main.conc", PROGRAM % '.store("far", compress: false)')
    assert cli("check", "main.conc").code == 0


def test_a_server_without_address_is_an_err(cli, write):
    """M-8.6: never an empty memory."""
    write("Concerto.toml", PROJECT + '[stores.far]\nkind = "redis"\nurl_env = "FAR"\n')
    write(
        "main.conc",
        'memory log: Memory = Memory::new().store("far");\nmodel M { provider: offline, memory: log }\n'
        'fn main() { let e: Any = M.execute("p").unwrap_err(); println(e.variant); log.len(); }\n',
    )
    ended = cli("run", "--offline", "main.conc")
    assert ended.out == "Store\n" and "P451" in ended.err


@pytest.mark.parametrize(
    ("kind", "address", "reason"),
    [
        ("redis", "foo://secret@x", "the variable FAR is not of the form redis://HOST:PORT/NUMBER, or"),
        ("redis", "redis://127.0.0.1:secret/0", "the variable FAR is not of the form redis://HOST:PORT/NUMBER, or"),
        ("redis", "redis://127.0.0.1:1/0?secret=1", "the variable FAR is not of the form redis://HOST:PORT/NUMBER, or"),
        ("postgres", "foo://secret@x", "the variable FAR is not of the form postgresql://USER@HOST:PORT/DATABASE"),
        ("postgres", "postgresql://u@127.0.0.1:1/d?connect_timeout=abc", "the variable FAR has the connect_timeout 'abc', which"),
        ("postgres", "postgresql://u@127.0.0.1:1/d?connect_timeout=2.5", "the variable FAR has the connect_timeout '2.5', which"),
    ],
)
def test_a_server_whose_address_is_malformed_is_an_err(cli, write, monkeypatch, kind, address, reason):
    """M-8.6: by the variable and the form, without what may be a password."""
    pytest.importorskip({"postgres": "psycopg"}.get(kind, kind))
    monkeypatch.setenv("FAR", address)
    write("Concerto.toml", PROJECT + f'[stores.far]\nkind = "{kind}"\nurl_env = "FAR"\n')
    write("main.conc", 'memory log: Memory = Memory::new().store("far");\nfn main() { log.len(); }\n')
    ended = cli("run", "--offline", "main.conc")
    assert ended.code == 1 and f"panic[P451]: store far: {reason}" in ended.err and "secret" not in ended.err


def test_events_are_told_to_who_listens(cli, write):
    """M-6.25 to M-6.27, M-6.31: runtime channels, after their change is stored; only `memory:step` has the text."""
    write("main.conc", PROGRAM % ".retain(2)")
    told = cli("run", "--offline", "--verbose", "main.conc").out
    steps = [line for line in told.splitlines() if line.startswith("[emit:memory:step]")]
    others = [line for line in told.splitlines() if line.startswith("[emit:memory:") and line not in steps]
    assert {line.partition("]")[0] for line in others} >= {"[emit:memory:commit", "[emit:memory:evict"}
    assert ["hello" in line for line in steps] == [True] and "hello" not in "".join(others)
    assert "[emit:" not in cli("run", "--offline", "main.conc").out


def test_an_embedder_of_a_connection_is_offline_offline(cli, write):
    """M-10.16: declared in the manifest; `inspect` shows it, and a connection that nobody declared is an error."""
    said = '[embedders.e]\nconnection = "openai"\nmodel = "e-1"\n'
    write("Concerto.toml", PROJECT + said)
    write(
        "main.conc",
        'memory m: Memory = Memory::new().store("durable").embed("e");\n'
        'fn main() { m.remember("a", "green teas"); println(m.recall("greenish teacup").len()); }\n',
    )
    assert cli("run", "--offline", "main.conc").out == "1\n"
    shown = cli("inspect", "--json", "main.conc").out
    assert '"connection": "openai"' in shown and "OPENAI_API_KEY" in shown
    failed = cli("run", "main.conc")
    assert failed.code == 0 and "the embedder e:e-1 failed" in failed.err
    write("Concerto.toml", PROJECT + said.replace("openai", "nowhere"))
    assert "E4003" in cli("check", "main.conc").err


def test_recall_and_rules_tell_what_they_do(cli, write):
    """M-6.30: ids of what was given, names of rules and facts, why a rule failed."""
    write(
        "main.conc",
        'memory m: Memory = Memory::new()\n'
        '    .learn("bad", on: "t", by: |_| "g", when: |g| g.items[7] == {}, store: |_| Learned { content: 1 })\n'
        '    .learn("good", on: "t", by: |_| "g", when: |_| true, store: |g| Learned { content: g.count });\n'
        'fn main() { m.observe("t", {}); m.recall("good"); m.recall("good", touch: false); m.recall("none"); }\n',
    )
    told = cli("run", "--verbose", "main.conc").out.splitlines()
    assert [line.partition("]")[0] for line in told] == ["[emit:memory:learn_failed", "[emit:memory:learn", "[emit:memory:recall"]
    for line, parts in zip(
        told,
        (('"rule":"bad"', '"reason":"index'), ('"rule":"good"', '"fact":"good/g"'), ('"ids":[0]', '"degraded":false')),
        strict=True,
    ):
        assert all(part in line for part in ('"memory":"m"', *parts)), line


def test_tests_have_fresh_stores(cli, write, tmp_path):
    """M-8.15"""
    write(
        "main.conc",
        'memory log: Memory = Memory::new().store("durable");\n'
        '@test\nfn one() { log.append("user", "a"); assert_eq(log.len(), 1); }\n'
        '@test\nfn two() { log.append("user", "b"); assert_eq(log.len(), 1); }\n',
    )
    assert cli("test", "main.conc").code == 0
    assert not (tmp_path / ".concerto").exists()


def test_entries_of_a_repl_share_the_log_and_its_steps(cli):
    """M-5.10, M-9.1: calls of later entries are runs of their own; a memory with functions in its steps goes on."""
    entries = (
        'memory log: Memory = Memory::new().pin(when: |m| m.content == "a").summary(|p, n| "${p}${n.len()}", every: 1);',
        "model M { provider: offline, memory: log }",
        'let one = M.execute("a")?;',
        'let two = M.execute("b")?;',
        "[log.len(), log.turns().len()]",
        "log.summary()",
        "log.entries().filter(|e| e.pinned).len()",
    )
    ended = cli("repl", "--offline", stdin="\n".join(entries).encode())
    assert ended.out.splitlines() == ["[4, 2]", '"22"', "1"]


def test_a_durable_memory_of_a_repl(cli):
    """M-8.2: entries go on with the store."""
    entries = (
        'memory log: Memory = Memory::new().store("durable");',
        "model M { provider: offline, memory: log }",
        'let one = M.execute("a")?;',
        'log.append("user", "x");',
        'let two = M.execute("b")?;',
        "log.len()",
    )
    ended = cli("repl", "--offline", stdin="\n".join(entries).encode())
    assert (ended.out, ended.err) == ("5\n", "")


STORED_SECRET = """memory log: Memory = Memory::new().per(user).store("durable");
memory facts: Memory = Memory::new().store("durable");
model M { provider: offline }
fn main() {
    let token = env("SERVICE_TOKEN") ?? "";
    if token != "" {
        log.key(user: "ann").append("user", "direct ${token}");
        facts.remember("token", {"is": [token]});
        M.with_memory(log.key(user: "ann")).execute("by a turn ${token}")?;
    }
    for message in log.key(user: "ann").messages() { println(message.content); }
    println(facts.fact("token").unwrap().content);
}
"""


def test_no_secret_is_stored(cli, write, tmp_path, monkeypatch):
    """G-10.3: not in the file, so not in the next process, which does not know it."""
    write("main.conc", STORED_SECRET)
    flags = ("run", "--offline", "--allow-env=SERVICE_TOKEN", "main.conc")
    monkeypatch.setenv("SERVICE_TOKEN", "tok-123456")
    assert "tok-123456" not in cli(*flags).out
    monkeypatch.delenv("SERVICE_TOKEN")
    again = cli(*flags).out
    assert again.count("<secret SERVICE_TOKEN>") == 4 and "tok-123456" not in again
    for file in (tmp_path / ".concerto").iterdir():
        assert b"tok-123456" not in file.read_bytes()


def test_the_name_of_a_fact_is_no_secret(cli, write, monkeypatch):
    """M-4.4: without secrets two facts could have one name."""
    write(
        "main.conc",
        'memory m: Memory = Memory::new().store("durable");\nfn main() { m.remember(env("SERVICE_TOKEN") ?? "", 1); }\n',
    )
    monkeypatch.setenv("SERVICE_TOKEN", "tok-123456")
    ended = cli("run", "--offline", "--allow-env=SERVICE_TOKEN", "main.conc")
    assert ended.code == 1 and "P451" in ended.err and "nothing was stored" in ended.err and "tok-123456" not in ended.err


def test_offline_runs_do_not_age_what_is_stored(cli, write):
    """V-6.6, M-8.9: their clock jumps; that of logs which outlive them does not."""
    program = """memory log: Memory = Memory::new().per(user).store("durable").ttl("30d");
fn main() {
    let ann = log.key(user: "ann");
    if ann.len() == 0 { ann.append("user", "kept"); }
    std::time::sleep(31 * 86400000);
    log.key(user: "bob").append("user", "hi");
    println(ann.len(), log.key(user: "bob").len());
}
"""
    write("main.conc", program)
    assert [cli("run", "--offline", "main.conc").out for _ in range(2)] == ["1 1\n", "1 2\n"]
