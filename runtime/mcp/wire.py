"""Connections to MCP servers through the official SDK, and the transport to a child process (O-1.250, O-4.37, O-4.43 to O-4.55).

Hands on to `opening.py`: `connected`, which returns a `Connection` over a pair of streams, with its mode `HANDSHAKE`; and
`streams_of`, which makes such streams of a child (`carrier.py` has those over HTTP). The SDK is imported here, in `carrier.py`
and in `login.py`; its exceptions end here, as ServerFailure. Which address or command is permitted is decided before, in
`opening.py`; what the server asks meanwhile is answered by `questions.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from contextlib import asynccontextmanager, contextmanager

import anyio
from mcp import Client, MCPError
from mcp.client import session as client_session
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ErrorData,
    GetPromptResult,
    ImageContent,
    Implementation,
    InputRequiredResult,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    PaginatedRequestParams,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    jsonrpc_message_adapter,
)

from ...vm.values.media import Refused, content_of, kind_of_mime, mime_of
from ..access.secrets import clean_text
from ..agents.child import ChildEnded, LineNotText, LineTooLong
from ..schema.lenient_json import JsonRefused, parse_json
from .questions import CANCEL, DECLINE, Question
from .resources import Part, PromptPart, ServedPrompt, ServedResource, decoded, failed
from .served import REFUSED_BODY, Answer, ServedTool, ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import Any, TypeVar

    from mcp import ClientSession
    from mcp.client.session import ClientRequestContext
    from mcp_types import ContentBlock, ElicitRequestParams, InputResponses

    from ...vm.values.media import Content
    from ..agents.child import Child
    from .carrier import Carrier
    from .questions import Caller
    from .served import McpSettings


# A client of the SDK must live in one task from its begin to its end, so `SdkConnection` keeps a task for it; calls come from any
# task. The client asks the server which revision of the protocol it speaks, and falls back to a handshake (O-1.250).

if TYPE_CHECKING:
    T = TypeVar("T")

# What the SDK logs, with tracebacks, is in our failures already. So it shall not go to stderr; a host that listens still gets it.
# Its client session has a logger outside of its own name.
for logger in (logging.getLogger("mcp"), client_session.logger):
    logger.addHandler(logging.NullHandler())

MOST_PAGES = 100  # of a list
MOST_ROUNDS = 10  # of one request, each of which asks for more input
ROUND_SECONDS = 0.25  # to wait before a round for which nothing was asked
CLIENT = Implementation(name="concerto", version="1")
NEWEST, HANDSHAKE = "auto", "legacy"  # modes of the SDK: ask for the revision first, or begin with a handshake


async def connected(
    settings: McpSettings,
    streams: AbstractAsyncContextManager[tuple[Any, Any]],
    *,
    mode: str = NEWEST,
    seconds: float | None = None,
    carrier: Carrier | None = None,
    faults: Sequence[str] = (),
) -> SdkConnection:
    """Return a connection that is ready for calls, over a pair of streams, which end with it. The caller must `aclose` it.
    `carrier`: what carries them, if it knows why a request failed; `faults`: of streams without one, into which they put why they
    have ended.

    Raises ServerFailure when the server does not answer as one, or not within `seconds`, by default the time limit of a request;
    the streams have ended then."""
    connection = SdkConnection(settings, streams, mode, carrier, faults)
    try:
        await connection.begin(settings.timeout if seconds is None else seconds)
    except BaseException:
        await connection.aclose()
        raise
    return connection


class Patience:
    """The time limit in seconds of one request that is on its way, which does not run while a person is asked. `caller` made the
    request, None for nobody who could be asked; `timer` is to be entered around it, `is_over` says that it has ended; `failure`:
    what went wrong with a question, so that this is its result."""

    def __init__(self, seconds: float, caller: Caller | None = None) -> None:
        self.timer = asyncio.timeout(seconds)
        self.caller = caller
        self.failure: Exception | None = None
        self.is_over = False
        self._pauses = 0
        self._left = 0.0

    def pause(self) -> None:
        """Stop the limit, until `resume` was called as often."""
        self._pauses += 1
        until = self.timer.when()
        if self._pauses == 1 and until is not None and not self.timer.expired():
            self._left = until - asyncio.get_running_loop().time()
            self.timer.reschedule(None)

    def resume(self) -> None:
        """Take back one `pause`; behind the last one let the limit run on with the time that was left, unless the request is
        over."""
        self._pauses -= 1
        if not self._pauses and not self.is_over and not self.timer.expired():
            self.timer.reschedule(asyncio.get_running_loop().time() + self._left)


class SdkConnection:
    """A `Connection` (`served.py`, which says what each method gives) through a client of the SDK. Each request has the time
    limit of the settings, in seconds. The methods raise ServerFailure: Timeout, ExecutionFailed for what the server refuses or
    answers against the protocol, ConnectionFailed for a connection that has ended, a request that failed below the protocol, or a
    list of more than MOST_PAGES pages; `gone` says that the next request needs a new connection. What a `Caller` raises on a
    question passes through. `carrier` and `faults` are those of `connected`."""

    def __init__(
        self, settings: McpSettings, streams: AbstractAsyncContextManager[tuple[Any, Any]], mode: str, carrier: Carrier | None,
        faults: Sequence[str],
    ) -> None:  # fmt: skip
        self.name = settings.name
        self.timeout = settings.timeout
        self.carrier = carrier
        self.faults = faults
        if carrier is not None:
            carrier.waiting_on_a_person = self._waiting_on_a_person
        self._client = Client(streams, mode=mode, client_info=CLIENT, cache=None, elicitation_callback=self._elicited)
        self._session: ClientSession | None = None
        self._on_their_way: list[Patience] = []
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._living = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        """Keep the client from its begin to its end. What ends it before it is ready becomes the failure that `begin` raises."""
        try:
            async with self._client as client:
                self._session = client.session
                if not self._ready.done():
                    self._ready.set_result(None)
                await self._closing.wait()
        except Exception:
            if not self._ready.done():
                self._ready.set_exception(ServerFailure(f"mcp {self.name} does not answer as an MCP server"))
        finally:
            if not self._ready.done():
                self._ready.cancel()

    async def begin(self, seconds: float) -> None:
        """Wait until the client is ready, at most so many seconds. Raises ServerFailure."""
        try:
            with self._patient(Patience(seconds)) as patience:
                async with patience.timer:
                    await asyncio.shield(self._ready)  # a timeout must not cancel it: `aclose` looks whether it was ready
        except TimeoutError:
            raise ServerFailure(f"mcp {self.name} is not ready within {self.timeout:g} s") from None
        except ServerFailure as failure:
            status = 0 if self.carrier is None else self.carrier.status
            said = f": it says HTTP status {status}" if status >= 400 else ""
            raise self._below() or ServerFailure(failure.message + said) from None

    def _below(self) -> ServerFailure | None:
        """Return why the last request failed below the protocol, if that is known."""
        if self.faults:
            return ServerFailure(f"mcp {self.name}: {self.faults[-1]}", gone=True)
        return None if self.carrier is None else self.carrier.failure

    async def aclose(self) -> None:
        """End the client and its streams; return when nothing of it runs any more, in another event loop than the one that it was
        opened in at once. How they end is not raised."""
        loop = self._living.get_loop()
        if loop is not asyncio.get_running_loop():  # that loop ends it, unless it is over with all that was in it
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._closing.set)
            return
        self._closing.set()
        if not self._ready.done():
            self._living.cancel()
        await asyncio.wait((self._living,))
        for future in (self._living, self._ready):
            if future.done() and not future.cancelled():
                future.exception()  # asyncio warns of an error that nobody has looked at

    # ------------------------------------------------------------ what the server has

    async def tools(self) -> list[ServedTool]:
        """Return all tools of the server, of all pages; none where it says that it has none."""
        pages = self._pages(lambda params: self._session_now.list_tools(params=params), "the list of tools")
        try:
            return [ServedTool(row.name, row.description or "", row.input_schema) async for page in pages for row in page.tools]
        except ServerFailure as failure:
            if failure.gone or not self._lacks("tools"):
                raise
            return []  # a server of resources or prompts alone

    async def resources(self) -> list[ServedResource]:
        """Return all resources of the server, of all pages; none where it says that it has none."""
        if self._lacks("resources"):
            return []
        pages = self._pages(lambda params: self._session_now.list_resources(params=params), "the list of resources")
        rows = [row async for page in pages for row in page.resources]
        return [ServedResource(row.uri, row.name, row.title, row.description, row.mime_type, row.size) for row in rows]

    async def prompts(self) -> list[ServedPrompt]:
        """Return all prompts of the server, of all pages; none where it says that it has none."""
        if self._lacks("prompts"):
            return []
        pages = self._pages(lambda params: self._session_now.list_prompts(params=params), "the list of prompts")
        rows = [row async for page in pages for row in page.prompts]
        arguments = [[(one.name, one.description, bool(one.required)) for one in row.arguments or ()] for row in rows]
        return [ServedPrompt(row.name, row.title, row.description, of) for row, of in zip(rows, arguments, strict=True)]

    def _lacks(self, what: str) -> bool:
        """Return whether the server has said that it has none of these."""
        said = self._session_now.server_capabilities
        return said is not None and getattr(said, what) is None

    async def _pages(self, page_of: Callable[[PaginatedRequestParams | None], Awaitable[T]], what: str) -> AsyncIterator[T]:
        cursor = None
        for _ in range(MOST_PAGES):
            page: Any = await self._request(page_of(None if cursor is None else PaginatedRequestParams(cursor=cursor)), what)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
        raise ServerFailure(f"mcp {self.name}: {what} has more than {MOST_PAGES} pages")

    # ------------------------------------------------------------ requests

    async def call(self, name: str, arguments: dict[str, Any], caller: Caller) -> Answer:
        """Call a tool with plain data and return its answer; questions and progress go to `caller`."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            caller.progress(progress, total, message)

        def send(responses: InputResponses | None, state: str | None) -> Awaitable[CallToolResult | InputRequiredResult]:
            return self._session_now.call_tool(
                name, arguments, progress_callback=on_progress, input_responses=responses, request_state=state,
                allow_input_required=True,
            )  # fmt: skip

        result = await self._answered(send, name, caller)
        texts, media = self._contents(name, result.content)
        return Answer(self._plain(f"the result of {name}", result.structured_content), texts, bool(result.is_error), media)

    async def read(self, uri: str, caller: Caller) -> list[Part]:
        """Return the contents of a resource; questions go to `caller`."""

        def send(responses: InputResponses | None, state: str | None) -> Awaitable[ReadResourceResult | InputRequiredResult]:
            return self._session_now.read_resource(
                uri, input_responses=responses, request_state=state, allow_input_required=True
            )

        what = f"the resource {uri}"
        result = await self._answered(send, what, caller)
        return [_part_of(row, what) for row in result.contents]

    async def prompt(self, name: str, arguments: dict[str, str], caller: Caller) -> list[PromptPart]:
        """Return the messages of a prompt that is filled in; questions go to `caller`."""

        def send(responses: InputResponses | None, state: str | None) -> Awaitable[GetPromptResult | InputRequiredResult]:
            return self._session_now.get_prompt(
                name, arguments, input_responses=responses, request_state=state, allow_input_required=True
            )

        what = f"the prompt {name}"
        result = await self._answered(send, what, caller)
        parts = []
        for message in result.messages:
            texts, media = self._contents(what, [message.content])
            parts.append(PromptPart(message.role, "\n".join(texts), media))
        return parts

    def _contents(self, what: str, blocks: list[ContentBlock]) -> tuple[list[str], list[Content]]:
        """Return the texts and the media of content blocks: of an embedded resource what it holds, of a link its URI.
        ServerFailure for a content that is none."""
        texts: list[str] = []
        media: list[Content] = []
        for block in blocks:
            if isinstance(block, TextContent):
                texts.append(block.text)
            elif isinstance(block, ImageContent | AudioContent):
                media.append(_content_of(block.type, block.data, f"the {block.type} in the result of {what}"))
            elif isinstance(block, ResourceLink):
                texts.append(block.uri)
            elif isinstance(block, EmbeddedResource):
                if isinstance(block.resource, TextResourceContents):
                    texts.append(block.resource.text)
                else:
                    media.append(_content_of(None, block.resource.blob, f"the resource in the result of {what}"))
        return texts, media

    @property
    def _session_now(self) -> ClientSession:
        """The session of the client. ServerFailure when it has ended."""
        if self._session is None or self._living.done():
            raise ServerFailure(f"mcp {self.name} has ended", gone=True)
        return self._session

    def _plain(self, what: str, structured: Any) -> Any:
        """Return structured content, checked against the limits of all JSON from outside. ServerFailure for what they refuse."""
        try:
            return None if structured is None else parse_json(json.dumps(structured))
        except JsonRefused as refused:
            raise ServerFailure(f"{what} is refused: {refused.reason}", "ExecutionFailed") from None
        except (RecursionError, ValueError):  # from a host: too deep, or with a number of too many digits, to be written at all
            raise ServerFailure(f"{what} is refused: it is beyond all bounds", "ExecutionFailed") from None

    def _question(self, params: ElicitRequestParams) -> Question:
        if isinstance(params, ElicitRequestFormParams):
            return Question(params.message, self._plain("the form of a question", dict(params.requested_schema)))
        return Question(params.message, None, params.url)

    async def _answered(
        self, send: Callable[[InputResponses | None, str | None], Awaitable[T | InputRequiredResult]], what: str, caller: Caller
    ) -> T:
        """Return the result of a request, which `send` sends; one that asks for input is sent again with the answers, at most
        MOST_ROUNDS times (revision 2026-07-28; older servers ask by a request of their own, see `_elicited`)."""
        responses: InputResponses | None = None
        state: str | None = None
        for _ in range(MOST_ROUNDS + 1):
            result = await self._request(send(responses, state), what, caller)
            if not isinstance(result, InputRequiredResult):
                return result
            responses, state = await self._inputs(result, what, caller), result.request_state
        raise ServerFailure(f"mcp {self.name}: {what} asks for input more than {MOST_ROUNDS} times", "ExecutionFailed")

    async def _inputs(self, result: InputRequiredResult, what: str, caller: Caller) -> InputResponses | None:
        if not result.input_requests:
            await asyncio.sleep(ROUND_SECONDS)
            return None
        responses: InputResponses = {}
        for key, request in result.input_requests.items():
            if not isinstance(request, ElicitRequest):
                failed(f"mcp {self.name}: {what} asks for {clean_text(request.method)}, which a program does not give")
            reply = await caller.reply(self._question(request.params))
            responses[key] = ElicitResult(action=reply.action, content=reply.content)  # type: ignore[arg-type]
        return responses

    async def _elicited(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question that the server asks by a request of its own. To which of several requests on their way it belongs,
        the protocol does not say."""
        asking = [one for one in self._on_their_way if one.caller is not None]
        if not asking:
            return ElicitResult(action=DECLINE)  # type: ignore[arg-type]
        first = asking[0]
        assert first.caller is not None
        try:
            with self._waiting_on_a_person():
                reply = await first.caller.reply(self._question(params), certain=len(asking) == 1)
            return ElicitResult(action=reply.action, content=reply.content)  # type: ignore[arg-type]
        except Exception as failure:  # also of a host's code: the SDK would tell the server and nobody else
            first.failure = failure
            return ElicitResult(action=CANCEL)  # type: ignore[arg-type]

    @contextmanager
    def _waiting_on_a_person(self) -> Iterator[None]:
        """Stop the time limits of all requests on their way: which of them waits is not known to all who ask."""
        paused = list(self._on_their_way)
        for one in paused:
            one.pause()
        try:
            yield
        finally:
            for one in paused:
                one.resume()

    @contextmanager
    def _patient(self, patience: Patience) -> Iterator[Patience]:
        self._on_their_way.append(patience)
        try:
            yield patience
        finally:
            patience.is_over = True
            self._on_their_way.remove(patience)

    async def _request(self, request: Awaitable[T], what: str, caller: Caller | None = None) -> T:
        """Return the result of a request to the server; `what` names it in messages. Errors become failures, in which no text
        but the server's own is shown (G-10.3)."""
        patience = Patience(self.timeout, caller)
        try:
            with self._patient(patience):
                async with patience.timer:
                    result = await request
        except TimeoutError:
            failure = ServerFailure(f"mcp {self.name}: no answer for {what} within {self.timeout:g} s", "Timeout")
        except MCPError as error:
            failure = self._failure(error, what)
        except ServerFailure as known:
            failure = known
        except Exception:  # the SDK found that the result breaks the protocol
            message = f"mcp {self.name}: the answer for {what} is not what the protocol says"
            failure = ServerFailure(message, "ExecutionFailed")
        else:
            if patience.failure is None:
                return result
        raise patience.failure or self._below() or failure from None

    def _failure(self, error: MCPError, what: str) -> ServerFailure:
        if error.code == CONNECTION_CLOSED:
            return ServerFailure(f"mcp {self.name} has ended before it answered {what}", gone=True)
        if error.code == REQUEST_TIMEOUT:
            return ServerFailure(f"mcp {self.name}: no answer for {what} within {self.timeout:g} s", "Timeout")
        if error.code == HEADER_MISMATCH:  # the next use lists the tools anew, and refuses one that is not what it was (G-9.6)
            return ServerFailure(f"mcp {self.name}: {what} is not what it was when it was listed", "ExecutionFailed", gone=True)
        if error.code == METHOD_NOT_FOUND:
            return ServerFailure(f"mcp {self.name} does not serve {what}: {clean_text(error.message)}", "ExecutionFailed")
        if error.code == PARSE_ERROR:
            _, refused, reason = clean_text(error.message).partition(REFUSED_BODY)
            fault = f"{refused}{reason}" if refused else f"the answer for {what} is not what the protocol says"
            return ServerFailure(f"mcp {self.name}: {fault}", "ExecutionFailed")
        return ServerFailure(f"mcp {self.name}: {clean_text(error.message)}", "ExecutionFailed")


def _part_of(contents: TextResourceContents | BlobResourceContents, what: str) -> Part:
    return Part(contents.text) if isinstance(contents, TextResourceContents) else Part(None, decoded(contents.blob, what))


def _content_of(kind: str | None, text: str, what: str) -> Content:
    """Return the media of a base64 text, of the kind that is given or that its bytes tell. ServerFailure for what is none."""
    data = decoded(text, what)
    try:
        return content_of(kind or kind_of_mime(mime_of(data) or ""), data)
    except Refused as refused:
        failed(f"{what} is refused: {refused.reason}")


# The SDK's own transport for child processes gives them more of the environment than the language allows, and leaves
# grandchildren alive. So a server over stdio is a `Child`, as agents are, with one message per line (O-4.37, G-11.1).

PROBE = "server/discover"  # the question for the revision, which an older server may leave without an answer
PROBE_SECONDS = 5.0  # after which it counts as refused


@asynccontextmanager
async def streams_of(
    child: Child, timeout: float, ended: Callable[[], None], faults: list[str]
) -> AsyncIterator[tuple[Any, Any]]:
    """Give the streams of a child process, as an asynchronous context manager: the pair of what comes from it and what goes to
    it, as messages of the SDK, one on each line. The child is stopped with them, and `ended` is called when it ends before. A
    line that is too long or no text ends the stream of what comes, and `faults` gets the reason. A probe without an answer counts
    as refused after PROBE_SECONDS, or a third of `timeout`, in seconds, if that is less."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    probed: set[Any] = set()
    closing = False

    async def reading() -> None:
        async with incoming:
            try:
                while True:
                    line = await child.line()
                    if line.strip():
                        received = _message(line)
                        if isinstance(received, SessionMessage) and isinstance(received.message, JSONRPCResponse | JSONRPCError):
                            probed.discard(received.message.id)
                        await incoming.send(received)
            except (ChildEnded, anyio.ClosedResourceError):  # the second: `writing` has found that it reads nothing any more
                if not closing:
                    ended()
            except (LineTooLong, LineNotText) as broken:  # the session sees the end of the stream
                faults.append("a line is longer than 1 MiB" if isinstance(broken, LineTooLong) else "a line is no UTF-8")
            except anyio.BrokenResourceError:
                return

    async def writing() -> None:
        async with outgoing:
            try:
                async for message in outgoing:
                    request = message.message
                    if isinstance(request, JSONRPCRequest) and request.method == PROBE:
                        probed.add(request.id)
                        tasks.start_soon(refuse_later, request.id)
                    await child.write(request.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
            except ChildEnded:
                await incoming.aclose()

    async def refuse_later(probe: Any) -> None:
        await anyio.sleep(min(PROBE_SECONDS, timeout / 3))
        if probe in probed:
            refused = ErrorData(code=METHOD_NOT_FOUND, message=PROBE)
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await incoming.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=probe, error=refused)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reading)
        tasks.start_soon(writing)
        try:
            yield read, write
        finally:
            closing = True
            with anyio.CancelScope(shield=True):
                await child.stop()
            tasks.cancel_scope.cancel()
            for stream in (read, write):
                stream.close()


def _message(line: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
