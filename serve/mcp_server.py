"""A program as an MCP server: public functions as tools, memories as resources, awaited emits as elicitation (S-1.5).

Hands on `server_of`, the server of the official SDK that an application is, to the endpoint (`mcp_endpoint.py`), and
`serve_stdio` to `concerto mcp`. Calls are those of the application, with its limits. A question goes to the client that called,
and stands among the open questions as well: whoever answers first does. Clients of the revisions with a handshake are asked while
the call runs; newer ones get the question as the answer, and call again with what the person said. How the server is reached by
HTTP, and who calls there, is not decided here (`mcp_endpoint.py`).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..api.json_calls import Misfitting, Signature, without_definitions
from .caller import ANYONE, LONGEST_NAME, Caller
from .calls import ServedCall, Wanted
from .events import Lost
from .problems import Problem
from .questions import Question

if TYPE_CHECKING:
    from .app import Application

Json = dict[str, Any]
SCHEME = "memory://"
PRIMITIVE = ("string", "number", "integer", "boolean")  # what a form of an elicitation may ask for
STDIO_SESSION = "stdio"  # the one session of a server on standard input and output
WRAPPED = "result"  # the field of a result that is no object
MOST_LINES = 64  # of standard input that wait to be taken
MOST_ASKED = 3  # times that one question is put to a client whose answers do not fit


def server_of(app: Application) -> Server[Any]:
    """Return the server of an application."""
    offered = _Offered(app)
    return Server(
        app.program.name, version=app.program.content_hash[:12], on_list_tools=offered.list_tools, on_call_tool=offered.call_tool,
        on_list_resources=offered.list_resources if app.program.memories else None,
        on_read_resource=offered.read_resource if app.program.memories else None,
    )  # fmt: skip


async def serve_stdio(app: Application) -> None:
    """Serve one client on standard input and output until it closes the input, and close the application then. What the program
    prints goes to standard error."""
    out = TextIOWrapper(sys.stdout.buffer, encoding="utf-8", line_buffering=True)
    sys.stdout = sys.stderr
    server = server_of(app)
    lines: Any = _Lines()
    try:
        async with stdio_server(stdin=lines, stdout=anyio.wrap_file(out)) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        await app.aclose()


class _Lines:
    """The lines of standard input, which is empty for the rest of the process from now on. A thread reads them that does not keep
    the process from ending: a read cannot be cancelled, and an interrupt would wait for the client's next line."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(MOST_LINES)
        with suppress(OSError):  # there is none: that is its end
            self._descriptor = os.dup(0)
            with open(os.devnull, "rb") as nothing:
                os.dup2(nothing.fileno(), 0)
            threading.Thread(target=self._read, daemon=True).start()
            return
        self._queue.put_nowait(None)

    def _read(self) -> None:
        pieces: list[bytes] = []  # of a line that has not ended
        with suppress(OSError):
            while piece := os.read(self._descriptor, 1 << 16):
                *lines, rest = piece.split(b"\n")
                for line in lines:
                    self._give(b"".join([*pieces, line]).decode("utf-8", "replace"))
                    pieces = []
                pieces.append(rest)
        last = b"".join(pieces)
        if last:
            self._give(last.decode("utf-8", "replace"))
        self._give(None)

    def _give(self, line: str | None) -> None:
        self._room.acquire()
        with suppress(RuntimeError):  # the loop has ended, and nobody reads any more
            self._loop.call_soon_threadsafe(self._queue.put_nowait, line)

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._queue.get()
        self._room.release()
        if line is None:
            raise StopAsyncIteration
        return line


class _Offered:
    """What one application offers."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.tools = [_tool(one, app.settings.keys) for one in app.signatures.values()]
        self.wrapped = {one.name for one in self.tools if WRAPPED in (one.output_schema or {}).get("properties", {})}

    async def list_tools(self, context: ServerRequestContext[Any], params: Any) -> types.ListToolsResult:
        """Return the public functions."""
        return types.ListToolsResult(tools=self.tools)

    async def call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a function, or go on with a call whose question is answered; return its result, or its next question."""
        misfits: dict[str, str] = {}
        try:
            caller, session = self._who(context)
            if params.request_state is not None:
                call = self.app.calls.found(params.request_state, caller.name)
                if call.log is None:  # a call by another way, which has no questions of MCP
                    raise Problem(404, "call", "there is no such call, or it ended too long ago")
                misfits = self._take_answers(call, params.input_responses or {})
            else:
                wanted = self._wanted(context, caller, session, params)
                call = await self.app.calls.begin(uuid4().hex, wanted, streams=True)
        except Problem as refused:
            return _failed(refused.message, None)
        return await self._followed(context, call, misfits)

    def _who(self, context: ServerRequestContext[Any]) -> tuple[Caller, str | None]:
        """Return the caller and the session of a request: over HTTP those of the request, the latter as all calls have it, else
        that of the protocol; on standard input and output the one client's. Raise Problem as `Gate.session_of`."""
        request = context.request
        if request is None:
            return Caller(ANYONE), STDIO_SESSION
        caller: Caller = request.scope["concerto_caller"]
        name = self.app.gate.session_of(request) or request.headers.get("mcp-session-id")
        return caller, None if name is None else name[:LONGEST_NAME]

    def _wanted(
        self, context: ServerRequestContext[Any], caller: Caller, session: str | None, params: types.CallToolRequestParams
    ) -> Wanted:
        if params.name not in self.app.signatures:
            raise Problem(404, "function", f"the program has no public function {params.name!r}")
        arguments = dict(params.arguments or {})
        if context.request is not None:
            return self.app.wanted(context.request, caller, params.name, arguments, session)
        if self.app.settings.keys:
            raise Problem(400, "key", "bound parameters come from a request of HTTP; here there is none")
        return Wanted(params.name, arguments, caller.name, session)

    async def _followed(
        self, context: ServerRequestContext[Any], call: ServedCall, misfits: Mapping[str, str]
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Follow a call to its end or its next question; `misfits` are why answers did not fit, by the keys of their questions. A
        client that gives up cancels it."""
        log, number = call.log, 0
        assert log is not None
        call.goes_on = False
        self.app.calls.opened(call)
        asked: Question | None = None
        try:
            while True:
                await log.arrived(number)
                number, events = log.count, self._kept(call, number)
                for event in events:
                    if event.kind in ("result", "error"):
                        return self._ended(call, event.kind, event.data)
                    if event.kind == "question":
                        asked = self.app.questions.open.get(json.loads(event.data)["key"])
                        if asked is not None and context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                            says = self._says(asked, misfits.get(asked.key))
                            params = types.ElicitRequestFormParams(message=says, requested_schema=self._form(asked))
                            requests: Any = {asked.key: types.ElicitRequest(params=params)}
                            return types.InputRequiredResult(input_requests=requests, request_state=call.id)
                        if asked is not None:
                            await self._ask(context, asked)
                            asked = None
        except MCPError as refused:
            call.cancel()
            return _failed(f"the client cannot be asked: {refused}", None)
        except Misfitting as refused:
            call.cancel()
            return _failed(str(refused), None)
        except BaseException:
            call.cancel()
            raise
        finally:
            call.goes_on = asked is not None  # the answer comes with another request
            self.app.calls.closed(call)

    def _kept(self, call: ServedCall, number: int) -> list[Any]:
        assert call.log is not None
        try:
            return call.log.after(number)
        except Lost:  # of many emits, which nobody needs here: the end and an open question are always kept
            return list(call.log.kept)

    async def _ask(self, context: ServerRequestContext[Any], question: Question) -> None:
        """Ask the client of a revision with a handshake, until its answer fits or somebody else has answered. Raise Misfitting
        where the last of MOST_ASKED answers does not fit, MCPError where it cannot be asked."""
        why: str | None = None
        for left in range(MOST_ASKED, 0, -1):
            says = self._says(question, why)
            asking = asyncio.ensure_future(context.session.elicit_form(says, self._form(question), context.request_id))
            either: set[asyncio.Future[Any]] = {asking, question.answered}
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if question.answered.done():
                    return
                self._take(question, asking.result())
                return
            except Misfitting as refused:
                if left == 1:
                    raise
                why = str(refused)
            finally:
                asking.cancel()
                await asyncio.wait({asking})

    def _says(self, question: Question, why: str | None) -> str:
        """Return the text of a question; `why` an answer before did not fit, None without one."""
        message = self.app.questions.message(question)
        return message if why is None else f"{why}\n{message}"

    def _take_answers(self, call: ServedCall, answers: types.InputResponses) -> dict[str, str]:
        """Give a call the answers that its client brings; return why those that do not fit do not, by the keys of their
        questions, which stay. One to a question that somebody else has answered is dropped. Raise Problem (409) for one to none
        of the call's questions."""
        assert call.log is not None
        own = [json.loads(event.data)["key"] for event in call.log.kept if event.kind == "question"]
        misfits = {}
        for key, said in answers.items():
            question = self.app.questions.open.get(key)
            if key not in own or not isinstance(said, types.ElicitResult):
                raise Problem(409, "answered", "the question has been answered, or its call has ended")
            if question is None:
                continue
            try:
                self._take(question, said)
            except Misfitting as refused:
                misfits[key] = str(refused)
        return misfits

    def _take(self, question: Question, said: types.ElicitResult) -> None:
        if said.action != "accept":
            self.app.questions.decline(question)
            return
        value = (said.content or {}).get("answer")
        is_text = self._form(question)["properties"]["answer"].get("type") == "string"
        written = self.app.questions.written(question, value) if is_text and isinstance(value, str) else json.dumps(value)
        self.app.questions.answer(question, written)

    def _form(self, question: Question) -> Json:
        """Return the schema of the form: the answer where it is a primitive, else its JSON as a text."""
        schema = self.app.questions.schema(question)
        simple = schema.get("type") in PRIMITIVE and "contentEncoding" not in schema
        names = schema.get("enum")
        if names and all(isinstance(one, str) for one in names):
            field: Json = {"type": "string", "enum": names}
        else:
            field = schema if simple else {"type": "string", "description": "JSON"}
        return {"type": "object", "properties": {"answer": field}, "required": ["answer"]}

    def _ended(self, call: ServedCall, kind: str, data: str) -> types.CallToolResult:
        if kind == "error":
            error = json.loads(data)["error"]
            return _failed(error["message"], error.get("value"))
        value = json.loads(data)
        text = value if isinstance(value, str) else data
        structured = {WRAPPED: value} if call.wanted.function in self.wrapped else value
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)

    # ------------------------------------------------------------ memories

    async def list_resources(self, context: ServerRequestContext[Any], params: Any) -> types.ListResourcesResult:
        """Return the memories without keys."""
        names = self.app.program.memories
        described = "The messages of the memory, as JSON"
        rows = [types.Resource(uri=SCHEME + n, name=n, description=described, mime_type="application/json") for n in names]
        return types.ListResourcesResult(resources=rows)

    async def read_resource(
        self, context: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return what a memory of the caller's session holds. Raise MCPError for a resource that is not there, and where there is
        no such session or no place for it."""
        name = str(params.uri).removeprefix(SCHEME)
        if name not in self.app.program.memories:
            raise MCPError(types.INVALID_PARAMS, f"there is no resource {params.uri}")
        try:
            caller, session = self._who(context)
            async with self.app.sessions.lent(caller.name, session) as lent:
                text = await lent.start_memory(name)
        except Problem as refused:
            code = types.INVALID_PARAMS if refused.status == 400 else types.INTERNAL_ERROR
            raise MCPError(code, refused.message) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[contents])


def _failed(message: str, value: Any) -> types.CallToolResult:
    """Return the result of a call that failed, with the error of the program where there is one."""
    texts = [message] if value is None else [message, json.dumps(value, ensure_ascii=False)]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text) for text in texts], is_error=True)


def _tool(signature: Signature, bound: Any) -> types.Tool:
    return types.Tool(
        name=signature.name, description=signature.doc or None, input_schema=signature.arguments(bound),
        output_schema=_result(signature),
    )  # fmt: skip


def _result(signature: Signature) -> Json:
    """Return the schema of a structured result: an object, in which one that is none stands as a field."""
    definitions: Json = {}
    schema = without_definitions(signature.result, definitions)
    target = definitions.get(str(schema.get("$ref", "")).removeprefix("#/$defs/"), schema)
    if target.get("type") == "object" and WRAPPED not in target.get("properties", {}):
        whole = dict(target)
    else:
        whole = {"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED]}
    return {**whole, "$defs": definitions} if definitions else whole
