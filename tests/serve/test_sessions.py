"""Sessions, bound keys, first answers and questions (S-1.3, S-1.6)."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import concerto.serve.sessions
import pytest

from .served import events_of, in_loop, program, served

TALK = """
memory chat { retain: 100 }
memory mail { per: user, retain: 10 }
hashmap seen: HashMap<String, Int> = HashMap::new();
model M { provider: openai, base: "m", memory: chat }
pub fn talk(text: String) -> Result<Int> { M.execute(text)?; seen["n"] = (seen.get("n") ?? 0) + 1; chat.len() }
pub fn held() -> Int { seen.get("n") ?? 0 }
pub fn write(user: String, text: String) -> Int { let box = mail.key(user: user); box.append("user", text); box.len() }
"""


def of(session: str) -> dict[str, str]:
    return {"concerto-session": session}


@in_loop
async def test_a_session_keeps_and_a_call_without_one_does_not() -> None:
    async with served(TALK) as (client, _):

        async def talk(headers: dict[str, str]) -> Any:
            return (await client.post("/call/talk", json={"text": "x"}, headers=headers)).json()

        assert [await talk(of("a")), await talk(of("a")), await talk(of("b")), await talk({}), await talk({})] == [2, 4, 2, 2, 2]
        # Calls of one session come one after another, whoever sends them.
        both = await asyncio.gather(*(talk(of("c")) for _ in range(20)))
        assert sorted(both) == list(range(2, 42, 2))


@in_loop
async def test_sessions_belong_to_their_callers() -> None:
    async with served(TALK, tokens={"a": "a" * 16, "b": "b" * 16}) as (client, _):
        for letter, length in (("a", 2), ("a", 4), ("b", 2)):
            head = {**of("same"), "authorization": f"Bearer {letter * 16}"}
            assert (await client.post("/call/talk", json={"text": "x"}, headers=head)).json() == length


@in_loop
async def test_idle_sessions_are_bytes_and_go_on(monkeypatch: Any = None) -> None:
    before = concerto.serve.sessions.LIVE
    concerto.serve.sessions.LIVE = 3
    try:
        async with served(TALK) as (client, app):
            for round_ in range(3):
                for number in range(20):
                    answer = await client.post("/call/talk", json={"text": "x"}, headers=of(f"s{number}"))
                    assert answer.json() == 2 * (round_ + 1)
            live = [kept for kept in app.sessions.kept.values() if kept.live is not None]
            assert len(live) == 3 and len(app.sessions.kept) == 20
    finally:
        concerto.serve.sessions.LIVE = before


@in_loop
async def test_sessions_are_bounded_and_old_ones_forgotten() -> None:
    before = concerto.serve.sessions.LIVE
    concerto.serve.sessions.LIVE = 0
    try:
        async with served(TALK, sessions=5, session_seconds=0.3) as (client, app):
            for number in range(8):
                await client.post("/call/talk", json={"text": "x"}, headers=of(f"s{number}"))
            assert len(app.sessions.kept) == 5
            await asyncio.sleep(0.35)
            assert (await client.post("/call/talk", json={"text": "x"}, headers=of("s7"))).json() == 2
            assert len(app.sessions.kept) == 1
        async with served(TALK, sessions=0) as (client, _):
            assert [(await client.post("/call/talk", json={"text": "x"}, headers=of("a"))).json() for _ in range(2)] == [2, 2]
    finally:
        concerto.serve.sessions.LIVE = before


@in_loop
async def test_live_sessions_are_bounded_and_forgotten_too() -> None:
    """Also few of them, none of which is bytes yet."""
    async with served(TALK, sessions=2) as (client, app):

        async def talk(session: str) -> Any:
            return (await client.post("/call/talk", json={"text": "x"}, headers=of(session))).json()

        assert [await talk(session) for session in "abcbcba"] == [2, 2, 2, 4, 4, 6, 2]
        assert [key[1] for key in app.sessions.kept] == ["b", "a"]
        async with app.sessions.lent("anyone", "b"), app.sessions.lent("anyone", "a"):
            refused = await client.post("/call/talk", json={"text": "x"}, headers=of("c"))
            assert refused.status_code == 503 and "in use" in refused.json()["error"]["message"]
            assert refused.headers["retry-after"] == "10"
    async with served(TALK, session_seconds=0.3) as (client, app):
        assert (await client.post("/call/talk", json={"text": "x"}, headers=of("a"))).json() == 2
        assert (await client.post("/call/talk", json={"text": "x"}, headers=of("b"))).json() == 2
        left = [kept.live for kept in app.sessions.kept.values()]
        await asyncio.sleep(0.35)
        assert (await client.post("/call/talk", json={"text": "x"}, headers=of("b"))).json() == 2
        assert [key[1] for key in app.sessions.kept] == ["b"] and all(session._turns.closed for session in left)


def test_sessions_and_first_answers_outlive_the_process(tmp_path: Path) -> None:
    """With a file of states; of another program the states are not taken."""

    @in_loop
    async def check() -> None:
        state = tmp_path / "state.db"
        head = {**of("a"), "idempotency-key": "k1"}
        async with served(TALK, state=state) as (client, _):
            assert (await client.post("/call/talk", json={"text": "x"}, headers=of("a"))).json() == 2
            first = await client.post("/call/talk", json={"text": "y"}, headers=head)
            assert first.json() == 4 and "idempotent-replayed" not in first.headers
        async with served(TALK, state=state) as (client, _):
            again = await client.post("/call/talk", json={"text": "y"}, headers=head)
            assert again.json() == 4 and again.headers["idempotent-replayed"] == "true"
            assert (await client.post("/call/held", json={}, headers=of("a"))).json() == 2
            assert (await client.post("/call/talk", json={"text": "z"}, headers=of("a"))).json() == 6
        async with served(TALK + "\npub fn more() -> Int { 1 }", state=state) as (client, _):
            assert (await client.post("/call/talk", json={"text": "z"}, headers=of("a"))).json() == 2

    check()


def test_what_a_failed_call_has_changed_outlives_the_process(tmp_path: Path) -> None:
    source = """
        memory chat { retain: 100 }
        pub fn spoilt(text: String) -> Result<Int> { chat.append("user", text); throw ToolError::new("no") }
        pub fn ended(text: String) -> Int { chat.append("user", text); panic("no") }
        pub fn length() -> Int { chat.len() }
    """

    @in_loop
    async def check() -> None:
        for _ in range(2):
            async with served(source, state=tmp_path / "state.db") as (client, _):
                for name in ("spoilt", "ended"):
                    assert (await client.post(f"/call/{name}", json={"text": "x"}, headers=of("a"))).status_code >= 400
                assert (await client.post("/call/spoilt", json={"text": "x"}, headers=of("a"))).status_code >= 400
        async with served(source, state=tmp_path / "state.db") as (client, _):
            assert (await client.post("/call/length", json={}, headers=of("a"))).json() == 6

    check()


@in_loop
async def test_what_is_done_is_told_where_the_file_of_states_takes_nothing() -> None:
    """As where the disk is full; where it cannot be read, nothing is begun."""
    with tempfile.TemporaryDirectory() as folder:
        async with served(TALK, state=f"{folder}/state.db", day_tokens=10_000) as (client, app):
            assert (await client.post("/call/talk", json={"text": "x"}, headers=of("a"))).json() == 2
            app.state.database.execute("PRAGMA query_only=ON")
            head = {**of("a"), "idempotency-key": "k"}
            first = [await client.post("/call/talk", json={"text": "x"}, headers=head) for _ in range(2)]
            assert [answer.json() for answer in first] == [4, 4] and first[1].headers["idempotent-replayed"] == "true"
            assert app.days.of("anyone")[0].left().tokens < 10_000
            app.state.database.execute("PRAGMA query_only=OFF")
            app.state.database.execute("DROP TABLE sessions")
            refused = await client.post("/call/talk", json={"text": "x"}, headers=of("b"))
            assert refused.status_code == 503 and refused.json()["error"]["code"] == "state", refused.text
            assert refused.headers["retry-after"] == "1" and app.admission.running == 0
            app.state.database.execute("DROP TABLE days")
            refused = await client.post("/call/talk", json={"text": "x"}, headers=of("a"))
            assert refused.status_code == 503 and app.admission.running == 0


@in_loop
async def test_first_answers_are_given_again_for_a_day() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for state in (None, f"{folder}/state.db"):
            async with served(state=state) as (client, app):

                async def count(post: Any = client.post) -> Any:
                    return (await post("/call/count", json={"key": "x"}, headers={**of("s"), "idempotency-key": "one"})).json()

                assert [await count(), await count()] == [1, 1]
                if state is None:
                    app.first.known = OrderedDict({k: (d, a, t - 86_401) for k, (d, a, t) in app.first.known.items()})
                else:
                    app.state.database.execute("UPDATE answers SET given = given - 86401")
                assert [await count(), await count()] == [2, 2]


@in_loop
async def test_an_idempotency_key_gives_the_first_answer_again() -> None:
    async with served() as (client, _):
        head = {**of("s"), "idempotency-key": "one"}

        async def count(key: str = "x", headers: dict[str, str] = head) -> Any:
            return await client.post("/call/count", json={"key": key}, headers=headers)

        assert [(await count()).json(), (await count()).json(), (await count(headers=of("s"))).json()] == [1, 1, 2]
        other = await count("y")
        assert other.status_code == 409 and "another request" in other.json()["error"]["message"]
        # At the same time: one runs, the others get its answer.
        answers = await asyncio.gather(*(count("z", {**of("t"), "idempotency-key": "two"}) for _ in range(10)))
        assert {one.json() for one in answers} == {1}
        failed = [await client.post("/call/crash", json={"secret": "s"}, headers={"idempotency-key": "three"}) for _ in range(2)]
        assert failed[0].text == failed[1].text and failed[1].status_code == 500


@in_loop
async def test_bound_parameters_come_from_the_request_alone() -> None:
    async with served(TALK, keys={"user": "header:X-User"}) as (client, _):

        async def write(user: str | None, body: dict[str, Any]) -> Any:
            headers = {**of("s"), **({} if user is None else {"x-user": user})}
            return await client.post("/call/write", json=body, headers=headers)

        given = [(await write(user, {"text": "x"})).json() for user in ("ada", "ada", "eve")]
        assert given == [1, 2, 1]
        stolen = await write("eve", {"text": "x", "user": "ada"})
        assert stolen.status_code == 400 and "never from the body" in stolen.json()["error"]["message"]
        lacking = await write(None, {"text": "x"})
        assert lacking.status_code == 400 and "lacks header:X-User" in lacking.json()["error"]["message"]
        document = (await client.get("/openapi.json")).json()
        body = document["paths"]["/call/write"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert list(body["properties"]) == ["text"]
        # A function without the parameter is called as ever.
        assert (await client.post("/call/held", json={}, headers={"x-user": "ada"})).json() == 0


def test_keys_of_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "main.conc").write_text(TALK)
    manifest = '[project]\nname = "a"\nversion = "1"\nentry = "main.conc"\n[serve.keys]\nuser = '
    (tmp_path / "Concerto.toml").write_text(f'{manifest}"caller"\n')

    @in_loop
    async def check() -> None:
        async with served(concerto.compile(path=tmp_path / "main.conc"), tokens={"ada": "a" * 16}) as (client, _):
            head = {"authorization": "Bearer " + "a" * 16}
            assert (await client.post("/call/write", json={"text": "x"}, headers=head)).json() == 1

    check()
    for wrong, says in (('"body"', "`user` of [serve.keys] is"), ("3", "`user` of [serve.keys] is")):
        (tmp_path / "Concerto.toml").write_text(manifest + wrong + "\n")
        with pytest.raises(concerto.CompileError, match="E4004") as refused:
            concerto.compile(path=tmp_path / "main.conc")
        assert says in str(refused.value)


@in_loop
async def test_questions_wait_for_whoever_may_answer() -> None:
    tokens = {"a": "a" * 16, "b": "b" * 16, "boss": "c" * 16}
    heads = {name: {"authorization": f"Bearer {token}"} for name, token in tokens.items()}
    async with served(program(), tokens=tokens, approvers=("boss",)) as (client, app):
        paying = [asyncio.create_task(client.post("/call/pay", json={"sum": n}, headers=heads["a"])) for n in (1, 2, 3)]
        while len(app.questions.open) < 3:
            await asyncio.sleep(0.01)

        async def seen(name: str) -> list[dict[str, Any]]:
            return (await client.get("/questions", headers=heads[name])).json()

        rows = await seen("boss")
        assert await seen("b") == [] and await seen("a") == rows
        assert [(row["payload"], row["channel"], row["answer"], row["caller"]) for row in rows] == [
            (f"pay {n}?", "approve", {"type": "boolean"}, "a") for n in (1, 2, 3)
        ]

        async def answer(name: str, at: int, text: str) -> int:
            head = {**heads[name], "content-type": "application/json"}
            return (await client.post(f"/questions/{rows[at]['key']}", content=text, headers=head)).status_code

        assert await answer("b", 0, "true") == 404
        assert [await answer("boss", 0, wrong) for wrong in ("3", "", "nonsense", '"yes"', "NaN")] == [400] * 5
        assert await answer("boss", 0, "true") == 204 and await answer("boss", 0, "true") == 404
        assert await answer("a", 1, "false") == 204
        assert (await paying[0]).json() == "paid 1" and (await paying[1]).status_code == 422
        paying[2].cancel()
        await asyncio.sleep(0.05)
        assert await seen("boss") == [] and app.admission.running == 0


@in_loop
async def test_an_answer_whose_default_panics_is_refused_and_the_question_stays() -> None:
    source = """
    const NONE: Array<Int> = [];
    struct Plan { name: String, size: Int = NONE[3] }
    channel choose: String -> Plan;
    pub fn ask() -> Result<Int> { choose("which?")?.size }
    """
    async with served(source) as (client, app):
        asked = asyncio.create_task(client.post("/call/ask", json={}))
        while not app.questions.open:
            await asyncio.sleep(0.01)
        (key,) = app.questions.open
        refused = await client.post(f"/questions/{key}", json={"name": "a"})
        assert refused.status_code == 400 and refused.json()["error"]["message"].endswith("is panic P004"), refused.text
        assert (await client.post(f"/questions/{key}", json={"name": "a", "size": 2})).status_code == 204
        assert (await asked).json() == 2


@in_loop
async def test_a_question_is_an_event_of_its_stream() -> None:
    async with served() as (client, app):
        asked = asyncio.create_task(client.post("/call/pay", json={"sum": 5}, headers={"accept": "text/event-stream"}))
        began = time.monotonic()
        while not app.questions.open:
            assert time.monotonic() - began < 10
            await asyncio.sleep(0.01)
        (question,) = app.questions.open.values()
        await client.post(f"/questions/{question.key}", json=True)
        rows = events_of((await asked).text)
        assert [kind for _, kind, _ in rows] == ["emit", "question", "result"]
        told = json.loads(rows[1][2])
        assert told["key"] == question.key and told["payload"] == "pay 5?" and told["answer"] == {"type": "boolean"}


@in_loop
async def test_claims_and_sessions_of_the_host() -> None:
    """A function of the host says who calls and more of it, another one which session a request is of."""

    def authorize(request: Any) -> Any:
        name, _, customer = request.headers.get("x-ticket", "").partition("/")
        return {"name": name, "customer": customer} if name else None

    options = {"authorize": authorize, "keys": {"user": "claim:customer"}}
    async with served(TALK, **options, session_of=lambda request: request.headers.get("x-ticket")) as (client, _):

        async def write(ticket: str) -> Any:
            return await client.post("/call/write", json={"text": "x"}, headers={"x-ticket": ticket})

        assert [(await write(ticket)).json() for ticket in ("shop/ada", "shop/ada", "shop/eve")] == [1, 2, 1]
        assert (await write("")).status_code == 401
    async with served(TALK, authorize=lambda request: 5, keys={"user": "caller"}) as (client, app):
        with pytest.raises(TypeError, match="authorize returned neither"):
            await client.post("/call/write", json={"text": "x"})
        assert app.admission.running == 0
