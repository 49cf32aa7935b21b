"""Views whose messages are the program's own, and views that are refreshed, over whole programs and a server that keeps its
provider's rules (M-12.34, M-12.35, M-4.30 to M-4.34, M-5.26 to M-5.34).

What is expected is computed beside it: a log as a list, a view as a loop over it.
"""

from __future__ import annotations

import os
import random
import threading
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import concerto
import pytest

from ..providers.mocks import OpenAIChat, Said

KINDS = ("execute", "schema", "chat", "stream")
TURN = 2  # messages
REPORTED = 9  # tokens of every reply of that server


class Server(OpenAIChat):
    """`small` says what it was asked; the others answer the prompt, or call the tool as often as `rounds` says. `refuses`: small
    is not to be had. `bad`: how many answers to a schema are none, after which `again` rounds
    follow."""

    rounds = 0
    bad = 0
    again = 0
    refuses = False

    def meanwhile(self, number):
        """While it answers with a call."""

    def answer(self, path, headers, body):
        if self.refuses and body["model"] == "small":
            return 401, "application/json", b'{"error": {"message": "no key", "type": "x", "param": null, "code": null}}'
        return super().answer(path, headers, body)

    def check(self, body, headers):
        self.check_pairs(body["messages"])

    def think(self, body):
        last = body["messages"][-1]["content"]
        if body["model"] == "small":
            return Said(f"of {last}")
        if self.rounds:
            self.rounds -= 1
            self.meanwhile(self.count)
            self.count += 1
            return Said(calls=[(f"call_{self.count}", body["tools"][0]["function"]["name"], {"text": str(self.count)})])
        if "Reply with one JSON value" in str(body["messages"]):
            self.bad -= 1
            self.count += 1
            self.rounds, self.again = self.again, 0
            return Said("{}" if self.bad >= 0 else f'{{"n":{self.count}}}')
        self.count += 1
        return Said(f"r{self.count}")


@contextmanager
def working_in(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def opened(made, **options):
    """A server, and a session on it; no rule of the provider is broken."""
    with Server() as server:
        fields = {"api_key": "k", "base_url": server.url, "structured": "prompt"}
        with made.session(connections={"lab": fields}, **options) as session:
            yield server, session
        assert server.broken == []


CALLS = """
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema N { n: Int }
    pub async fn ask(kind: String, text: String) -> Result<Nil, AgentError> {
        let m = MODEL;
        if kind == "execute" { m.execute(text)?; }
        if kind == "schema" { m.execute_with_schema<N>(text)?; }
        if kind == "chat" { m.chat([Message::user(text)])?; }
        if kind == "stream" { for _chunk in m.stream(text)? {} }
        Ok(nil)
    }
    pub fn kept() -> String { log.dump() }
    pub fn stored() -> Array<Map<String, Any>> { log.messages().map(|m| { role: m.role, content: m.content }) }
"""
VIEWS = """
    model Small { provider: lab, base: "small" }
    model Main { provider: lab, base: "main" }
    memory mode: Memory = Memory::new();
    pub fn mode_is(text: String) { mode.append("user", text); }
    async fn shown(all: Array<Message>) -> Result<Array<Message>, AgentError> {
        emit("asked", all.map(|m| m.content));
        let how = mode.messages().last().map(|m| m.content).unwrap_or("");
        if how == "error" { return Err(AgentError::InvalidRequest("not today")); }
        if how == "orphan" { return Ok([Message::tool("c9", "of nothing")]); }
        if how == "panic" { panic("not today"); }
        if how == "wait" { std::time::sleep(60_000); }
        let said = Small.execute("${all.len()}")?.text;
        Ok([Message::user("<${said}>")].concat(all.map(|m| if m.role == "user" { Message::user("${m.content}?") } else { m })))
    }
    fn fold(previous: String, new: Array<Message>) -> String { new.map(|_m| ".").join("") + previous }
    memory other: Memory = Memory::new();
    other.append("user", "apart");
    async fn soon() -> Nil { std::time::sleep(50); nil }
    async fn asking(kind: String) -> Nil { let _said = ask(kind, "given up").await; nil }
    pub async fn given_up(kind: String) -> Nil { race (asking(kind), soon()) }
    pub fn looked() -> Array<String> { log.view("look").map(|m| m.content) }
"""


def last(log, n):
    return log[-n:] if n else []


def of_tokens(log, prompt, limit=60):
    """The newest that the prompt leaves room for, up to the first that does not fit."""
    left = limit - (4 + ceil(len(prompt) / 4))
    shown = []
    for role, content in reversed(log):
        left -= REPORTED if role == "assistant" else 4 + ceil(len(content) / 4)
        if left < 0:
            break
        shown.insert(0, (role, content))
    return shown


def of_pins(log, prompt):
    """All that end in a bang, and the newest turn."""
    return [one for at, one in enumerate(log) if one[1].endswith("!") or at >= len(log) - TURN]


STEPS = {
    "": lambda log, prompt: log,
    ".window(3)": lambda log, prompt: last(log, 3),
    ".window(turns: 2)": lambda log, prompt: last(log, 2 * TURN),
    ".tokens(60)": of_tokens,
    ".roles([User])": lambda log, prompt: [one for one in log if one[0] == "user"],
    '.pin(when: |m| m.content.ends_with("!")).window(turns: 1)': of_pins,
    ".window(2).summary(fold)": lambda log, prompt: last(log, 2),
}


def given(shown):
    """What the function makes of it."""
    return [("user", f"<of {len(shown)}>"), *((role, f"{text}?" if role == "user" else text) for role, text in shown)]


def requested(steps, in_list, log, prompt):
    """The messages of the request, and what the function is asked."""
    shown = STEPS[steps](log, prompt)
    made = given(shown)
    if "summary" in steps and len(log) > len(shown):
        made = [("system", "[summary] " + "." * (len(log) - len(shown))), *made]
    if in_list:  # what its function was given the view of the whole log does not show
        made += [("user", "apart"), *[one for one in log if one not in shown]]
    return [*made, ("user", prompt)], [text for _, text in shown]


def program(steps, in_list, store):
    view = f"{steps}.view(with: shown)"
    log = f"memory log: Memory = Memory::new(){'' if in_list else view}{store};"
    if in_list:
        log += f" memory own: Memory = Memory::of(log){view};"
    model = f"Main.with_memory({'[own, other, log]' if in_list else 'log'})"
    return concerto.compile(CALLS.replace("MODEL", model) + VIEWS + log)


def texts(body):
    return [(message["role"], message.get("content")) for message in body["messages"]]


def own_views(folder, seed, steps, in_list, store, **options):
    """M-12.34 for one memory: calls of drawn kinds, then faults in the function, then a call that goes well."""
    draw = random.Random(f"{seed} {steps} {in_list} {store}")
    asked, log, numbers = [], [], iter(range(1000, 10_000))
    with working_in(folder), opened(program(steps, in_list, store), **options) as (server, session):
        session.on("asked", asked.append)

        def call():
            kind, prompt = draw.choice(KINDS), f"p{next(numbers)}" + "!" * (draw.random() < 0.3)
            sent, told = requested(steps, in_list, log, prompt)
            server.seen.clear()
            asked.clear()
            server.bad = draw.randrange(2) if kind == "schema" else 0
            tries = 1 + server.bad
            session.call("ask", kind, prompt)
            main = [texts(body) for body in server.seen if body["model"] == "main"]
            assert [body["model"] for body in server.seen] == ["small", *["main"] * tries]
            assert asked == [told]
            assert all(one[:-1] == sent[:-1] and one[-1][1].startswith(prompt) for one in main), (sent, main)
            held = [(m["role"], m["content"]) for m in session.call("stored")]
            assert held[:-2] == log and held[-2] == ("user", prompt), "only the turn is stored"
            log[:] = held

        for _ in range(draw.randrange(4, 8)):
            call()
        before = session.call("kept")
        for fault in ("error", "orphan", "small", "wait", "panic"):
            kind = draw.choice(KINDS)
            server.refuses = fault == "small"
            session.call("mode_is", fault)
            server.seen.clear()
            if fault == "wait":
                session.call("given_up", kind)
            else:
                with pytest.raises(concerto.Panic if fault == "panic" else concerto.ProgramError):
                    session.call("ask", kind, "p")
            assert [body for body in server.seen if body["model"] == "main"] == []
            assert session.call("kept") == before
        server.refuses = False
        session.call("mode_is", "well")
        call()
        if not in_list:
            shown = requested(steps, in_list, log, "look")[0]
            assert session.call("looked") == [text for _, text in shown]


STORES = ("", ".on_conflict(Serial)", '.store("durable")', '.store("durable").on_conflict(Reject)')


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("in_list", [False, True])
@pytest.mark.parametrize("steps", STEPS)
def test_a_function_makes_the_view_of_every_kind_of_call(steps, in_list, store, tmp_path):
    own_views(tmp_path, 1, steps, in_list, store)


@pytest.mark.parametrize("steps", ["", ".window(2).summary(fold)"])
def test_a_function_makes_the_view_on_every_store(steps, open_store, tmp_path):
    own_views(tmp_path, 2, steps, False, '.store("durable")', stores={"durable": open_store()})


# ---------------------------------------------------------------- limits of the call

WAITING = ("", ".on_conflict(Serial)", '.store("durable")')


@pytest.fixture(scope="module")
def warm():
    """The SDK is loaded, which takes longer than the limits below."""
    with opened(program("", False, "")) as (_, session):
        session.call("ask", "execute", "p")


@pytest.mark.parametrize("store", WAITING)
@pytest.mark.parametrize("kind", KINDS)
def test_the_deadline_of_the_call_ends_its_function(kind, store, warm, tmp_path):
    made = program("", False, store)
    with working_in(tmp_path), Server() as server:
        lab = {"lab": {"api_key": "k", "base_url": server.url, "structured": "prompt"}}
        with made.session(connections=lab, budgets=concerto.Budgets(seconds=0.7)) as session:
            session.call("mode_is", "wait")
            before = session.call("kept")
            with pytest.raises(concerto.Panic, match="P102"):
                session.call("ask", kind, "p")
            assert session.call("kept") == before
            session.call("mode_is", "well")
            session.call("ask", "execute", "q")  # the lock is free
        assert [body["model"] for body in server.seen] == ["small", "main"]


@pytest.mark.parametrize("store", WAITING)
@pytest.mark.parametrize("kind", KINDS)
def test_a_cancel_from_the_host_ends_its_function(kind, store, tmp_path):
    with working_in(tmp_path), opened(program("", False, store)) as (server, session):
        session.call("mode_is", "wait")
        before = session.call("kept")
        timer = threading.Timer(0.2, session.cancel)
        timer.start()
        with pytest.raises(Exception, match="cancel"):
            session.call("ask", kind, "p")
        timer.join()
        assert session.call("kept") == before
        session.call("mode_is", "well")
        session.call("ask", "execute", "q")


@pytest.mark.parametrize("kind", KINDS)
def test_its_requests_draw_on_the_budgets_of_the_call(kind, tmp_path):
    made = program("", False, "")
    with working_in(tmp_path), Server() as server:
        lab = {"lab": {"api_key": "k", "base_url": server.url, "structured": "prompt"}}
        with made.session(connections=lab, budgets=concerto.Budgets(model_calls=1)) as session:
            with pytest.raises(concerto.ProgramError, match="BudgetError"):
                session.call("ask", kind, "p")
            assert session.call("stored") == []
        assert [body["model"] for body in server.seen] == ["small"]


# ---------------------------------------------------------------- what others store meanwhile

REFRESHED = """
    model Main { provider: lab, base: "main", tools: [Desk] }
    memory plan: Memory = Memory::new();
    pub fn write(role: String, text: String) { plan.append(role, text); }
    /// Others at work.
    tool Desk {
        /// One step, in which others store what was planned.
        pub fn step(self, @param("which") text: String) -> Int {
            let planned = plan.messages();
            plan.clear();
            for m in planned { log.append(m.role, m.content); }
            planned.len()
        }
    }
    memory log: Memory = Memory::new(tools: true)STEPS.refresh(Step);
    log.append("user", "before");
"""


def refreshed(folder, seed, steps=""):
    """M-12.35: what others store between the steps is in the next request once, behind what is on its way."""
    draw = random.Random(f"{seed} {steps}")
    numbers = iter(range(10_000))
    made = concerto.compile(CALLS.replace("MODEL", "Main.with_memory(log)") + REFRESHED.replace("STEPS", steps))
    with working_in(folder), opened(made) as (server, session):
        for _ in range(4):
            planned = [(draw.choice(["user", "user", "assistant", "system"]), f"w{next(numbers)};") for _ in range(4)]
            for role, text in planned:
                session.call("write", role, text)
            server.seen.clear()
            server.rounds = draw.randrange(4)
            kind = draw.choice(KINDS)
            server.bad = draw.randrange(2) if kind == "schema" else 0
            server.again = draw.randrange(3) if server.bad else 0
            rounds, again = server.rounds, server.again
            attempts = 1 + server.bad
            session.call("ask", kind, "p")
            requests = [texts(body) for body in server.seen]
            assert len(requests) == rounds + again + attempts
            first = requests[: rounds + 1]  # the attempt with the tool
            assert all(after[: len(before)] == before for before, after in zip(first, first[1:], strict=False))
            shown = [_as_user(*one) for one in planned if "roles" not in steps or one[0] == "user"] if rounds else []
            found = [one for one in first[-1] if one in shown]
            assert found == shown, (shown, first[-1])
            assert not shown or first[1][-len(shown) :] == shown, "behind what is on its way"
            second = requests[rounds + 1 :]
            assert all(after[: len(before)] == before for before, after in zip(second, second[1:], strict=False))
            for later in second[:1]:
                assert later[:-1] == first[0][:-1], "another attempt begins with the snapshot"
            for later in second[1:]:
                assert [one for one in later if one in shown] == shown
            if not rounds:
                session.call("write", "user", "rest")


def _as_user(role, text):
    return ("user", text if role == "user" else f"[{role}] {text}")


@pytest.mark.parametrize("steps", ["", ".roles([User])", ".window(3)"])
@pytest.mark.parametrize("seed", range(6))
def test_what_others_store_meanwhile_is_shown_once(seed, steps, tmp_path):
    refreshed(tmp_path, seed, steps)


@pytest.mark.parametrize("how", ["log", "read"])
def test_what_another_session_stores_meanwhile_is_shown_too(how, open_store, tmp_path):
    """Also by a view that is only read, of a memory whose own turns nobody comes between."""
    memories = '''memory log: Memory = Memory::new().store("durable").on_conflict(Append).refresh(Step);'''
    if how == "read":
        memories = '''memory log: Memory = Memory::new().store("durable"); memory read: Memory = Memory::of(log).refresh(Step);'''
    source = CALLS.replace("MODEL", "Main.with_memory(read, auto: false)" if how == "read" else "Main.with_memory(log)")
    made = concerto.compile(source + memories + '''
        model Main { provider: lab, base: "main", tools: [Desk] }
        pub fn add(text: String) { log.append("user", text); }
        /// One.
        tool Desk {
            /// One step.
            pub fn step(self, @param("which") text: String) -> Int { text.len() }
        }
    ''')  # fmt: skip
    first, second = open_store(), open_store.again()
    with (
        working_in(tmp_path),
        opened(made, stores={"durable": first}) as (server, session),
        made.session(stores={"durable": second}) as other,
    ):
        session.call("add", "before")
        server.rounds = 2
        server.meanwhile = lambda number: other.call("add", f"while {number}")
        session.call("ask", "execute", "p")
        shown = [[text for role, text in texts(body) if role == "user"] for body in server.seen]
        assert shown == [["before", "p"], ["before", "p", "while 0"], ["before", "p", "while 0", "while 1"]]
        stored = [m["content"] for m in other.call("stored")]
        assert stored[:3] == ["before", "while 0", "while 1"] and len(stored) == (3 if how == "read" else 5)


# ---------------------------------------------------------------- events


def events(folder, store="", **options):
    """What a program hears of its memory is what a host hears of it, in the same order (M-6.37)."""
    heard, told = [], []
    words = ("Step", "Commit", "Evict", "Rollback")
    handlers = "".join(f'.on({word}, |e| emit("heard", ["memory:{word.lower()}", e.run, e.seqs]))' for word in words)
    made = concerto.compile(
        CALLS.replace("MODEL", "Main.with_memory(log)") + 'model Main { provider: lab, base: "main" }'
        + f'memory log: Memory = Memory::new(3){store}{handlers}; pub fn add(t: String) {{ log.append("user", t); }}'
    )
    with working_in(folder), opened(made, **options) as (server, session):
        session.on("heard", lambda one: heard.append(tuple(one)))
        for word in words:
            channel = f"memory:{word.lower()}"
            session.on(channel, lambda e, channel=channel: told.append((channel, e.get("run"), e.get("seqs"))))
        for kind in (*KINDS, "fails", *KINDS):
            server.bad = 9 if kind == "fails" else 0
            try:
                session.call("ask", "schema" if kind == "fails" else kind, "p")
            except concerto.ProgramError:
                assert kind == "fails"
            session.call("add", "x")
    assert heard == told
    assert {channel for channel, *_ in told} == {f"memory:{word.lower()}" for word in words}


def test_a_program_hears_what_its_host_hears(tmp_path):
    events(Path(tmp_path))


def test_a_program_hears_the_same_on_every_store(open_store, tmp_path):
    events(Path(tmp_path), '.store("durable")', stores={"durable": open_store()})
