"""The support desk of `examples/serve`: two tenants, streams, approvals (S-1.3, S-1.6)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import concerto

from .served import events_of, in_loop, served

FOLDER = Path(__file__).parent.parent.parent / "examples" / "serve"


@in_loop
async def test_two_tenants_and_a_person_who_approves() -> None:
    rows = [line.split() for line in (FOLDER / "tokens.txt").read_text().splitlines() if not line.startswith("#")]
    tokens = dict(rows)
    desk = concerto.compile(path=FOLDER / "main.conc")
    async with served(desk, tokens=tokens, approvers=("desk",)) as (client, app):

        def head(name: str, customer: str, **more: str) -> dict[str, str]:
            return {"authorization": f"Bearer {tokens[name]}", "x-customer": customer, **more}

        async def history(name: str, customer: str) -> Any:
            return (await client.post("/call/history", json={}, headers=head(name, customer))).json()

        # Keyed memories of this program have no store: they live in a session, which here both shops name alike.
        same = {"concerto-session": "all"}
        stream = await client.post(
            "/call/say", json={"text": "Where is it?"}, headers={**head("north", "ada", accept="text/event-stream"), **same}
        )
        kinds = [kind for _, kind, _ in events_of(stream.text)]
        assert set(kinds[:-1]) == {"text"} and kinds[-1] == "result" and len(kinds) > 2
        kept = (await client.post("/call/history", json={}, headers={**head("north", "ada"), **same})).json()
        assert kept == ["user: Where is it?", "assistant: offline: Where is it?"]
        assert await history("south", "ada") == [] and await history("north", "eve") == []
        small = await client.post("/call/refund", json={"order": "o1", "cents": 500}, headers=head("north", "ada"))
        assert small.json() == "refunded 500 cents of o1"
        order = {"order": "o2", "cents": 5000}
        large = asyncio.create_task(client.post("/call/refund", json=order, headers=head("south", "eve")))
        while not app.questions.open:
            await asyncio.sleep(0.01)
        (question,) = (await client.get("/questions", headers=head("desk", "-"))).json()
        assert question["payload"] == {"tenant": "south", "customer": "eve", "order": "o2", "cents": 5000}
        assert (await client.get("/questions", headers=head("north", "ada"))).json() == []
        agreed = await client.post(f"/questions/{question['key']}", json=True, headers=head("desk", "-"))
        assert agreed.status_code == 204 and (await large).json() == "refunded 5000 cents of o2"
        forged = await client.post("/call/history", json={"tenant": "south"}, headers=head("north", "ada"))
        assert forged.status_code == 400
