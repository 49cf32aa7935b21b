"""A web application that serves one program for two tenants: `uvicorn app:app`, with FastAPI installed.

Each tenant has a session of its own, with its own key, budget and memories; in it each customer has a conversation of their own.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import concerto
import concerto.importer  # from here on `import` finds programs
import desk
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse

if TYPE_CHECKING:
    from concerto.api.options import RunOptions

TENANTS = ("acme", "globex")


def options_of(tenant: str) -> RunOptions:
    """Return the options of a tenant's session: its key stands in a variable of its own."""
    key = os.environ.get(f"{tenant.upper()}_OPENAI_API_KEY", "")
    return {"connections": {"openai": {"api_key": key}}, "budgets": concerto.Budgets(tokens=1_000_000)}


def session_of(tenant: str, request: Request) -> desk.Session:
    """Return the session of the tenant that the address names. Raise 404 for another name."""
    session: desk.Session | None = request.app.state.sessions.get(tenant)
    if session is None:
        raise HTTPException(404, f"no tenant {tenant}")
    return session


Tenant = Annotated[desk.Session, Depends(session_of)]


def create_app(options: dict[str, RunOptions] | None = None) -> FastAPI:
    """Return the application; `options` are those of the sessions by tenant, in place of `options_of`."""
    chosen = options or {tenant: options_of(tenant) for tenant in TENANTS}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            app.state.sessions = {
                tenant: await stack.enter_async_context(desk.session(**each)) for tenant, each in chosen.items()
            }
            yield

    app = FastAPI(title="Support desk", lifespan=lifespan)

    @app.post("/{tenant}/tickets")
    async def tickets(session: Tenant, letter: str) -> desk.Ticket:
        return await session.aio.sort(letter)

    @app.post("/{tenant}/answers")
    async def answers(session: Tenant, customer: desk.Customer, letter: str) -> StreamingResponse:
        call = session.start("answer", customer, letter)

        async def text() -> AsyncIterator[str]:
            async with call:  # a client that goes away ends the call
                async for emit in call:
                    yield emit.payload

        return StreamingResponse(text(), media_type="text/plain")

    @app.get("/{tenant}/customers/{name}/messages")
    async def messages(session: Tenant, name: str) -> int:
        return await session.aio.messages({"name": name})

    return app


app = create_app()
