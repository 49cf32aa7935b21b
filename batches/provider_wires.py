"""The batches of OpenAI and Anthropic on the wire, through their official SDKs (S-2.4), as their public documentation had them on
2026-11-27: https://platform.openai.com/docs/api-reference/batch and
https://platform.claude.com/docs/en/build-with-claude/batch-processing.

Hands on `wire_of`, which gives the `Wire` of a provider, `Line`, an answer, and UNREADABLE to `provider_jobs.py`. Requests are
written by the provider of the connection, as single ones are, and sent with its client, key and limits of time. Which requests
are in a batch, and when it is sent and looked for, is for `provider_jobs.py`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..runtime.providers.anthropic import Anthropic, listing
from ..runtime.providers.openai import OpenAIChat, OpenAIProvider, OpenAIResponses
from ..runtime.records import SideRequest

SECONDS = 120.0  # for an upload, a look, or a part of a download
OVER = ("completed", "failed", "expired", "cancelled")  # of OpenAI's batches
PAGES = 100  # of batches, in which one is looked for


@dataclass(frozen=True, slots=True)
class Line:
    """The answer to one request, by its id in the batch; a `status` below 400 has the body of a reply, any other an error. `body`
    is JSON in ASCII: a text of it may hold half a character, which UTF-8 cannot write."""

    id: str
    status: int
    body: bytes


# What is raised for an answer that is not as documented: of another shape, or nested too deep.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


class Wire:
    """The batches of one provider. `most_rows` and `most_bytes` bound a batch. Methods raise CallFailure, and one of UNREADABLE
    for an answer that is not as documented; a batch is known by its id there."""

    most_rows = 5_000
    most_bytes = 64 << 20

    def __init__(self, provider: Any) -> None:
        self.provider = provider

    def entry(self, id: str, body: Mapping[str, Any]) -> bytes:
        """Return a request as it stands in a batch."""
        raise NotImplementedError

    async def send(self, name: str, entries: list[bytes]) -> str:
        """Send a batch, and return its id; `name` is ours."""
        raise NotImplementedError

    async def is_over(self, job: str) -> bool:
        """Return whether a batch has ended, in whatever way."""
        raise NotImplementedError

    def lines(self, job: str) -> AsyncIterator[Line]:
        """Yield the answers of a batch that is over, in any order. What has none was not asked."""
        raise NotImplementedError

    async def find(self, name: str, rows: int, since: float, known: set[str]) -> str | None:
        """Return the id of a batch that was sent under our name, with so many rows, after `since`, in seconds since 1970; None
        where there is none. `known` are those that are others."""
        raise NotImplementedError

    def _request(self) -> SideRequest:
        return SideRequest(self.provider.settings.name, "batch", SECONDS)

    async def _fetch(self, create: Any, **arguments: Any) -> dict[str, Any]:
        fields = await self.provider.fetch(self._request(), arguments, create)
        data: dict[str, Any] = fields.data
        return data


class OpenAIWire(Wire):
    """`/v1/files` and `/v1/batches`. `endpoint` is where a single request would go."""

    def __init__(self, provider: Any, endpoint: str) -> None:
        super().__init__(provider)
        self.endpoint = endpoint

    def entry(self, id: str, body: Mapping[str, Any]) -> bytes:
        line = {"custom_id": id, "method": "POST", "url": self.endpoint, "body": body}
        return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()

    async def send(self, name: str, entries: list[bytes]) -> str:
        content = b"".join(entry + b"\n" for entry in entries)
        file = await self._fetch(
            lambda client: client.files.with_streaming_response.create, file=(f"{name}.jsonl", content), purpose="batch"
        )
        batch = await self._fetch(
            lambda client: client.batches.with_streaming_response.create, input_file_id=str(file["id"]), endpoint=self.endpoint,
            completion_window="24h", metadata={"concerto": name},
        )  # fmt: skip
        return str(batch["id"])

    async def _batch(self, job: str) -> dict[str, Any]:
        return await self._fetch(lambda client: client.batches.with_streaming_response.retrieve, batch_id=job)

    async def is_over(self, job: str) -> bool:
        return (await self._batch(job)).get("status") in OVER

    async def lines(self, job: str) -> AsyncIterator[Line]:
        batch = await self._batch(job)
        for file in (batch.get("output_file_id"), batch.get("error_file_id")):
            if file:
                create = lambda client: client.files.with_streaming_response.content  # noqa: E731, one line in a loop
                async for line in self.provider.lines(self._request(), {"file_id": str(file)}, create):
                    if line.strip():
                        yield self._line(json.loads(line))

    def _line(self, data: dict[str, Any]) -> Line:
        response, error = data.get("response") or {}, data.get("error")
        status = int(response.get("status_code") or (500 if error else 200))
        body = response.get("body") if response.get("body") is not None else {"error": error}
        return Line(str(data["custom_id"]), status, json.dumps(body).encode())

    async def find(self, name: str, rows: int, since: float, known: set[str]) -> str | None:
        after: dict[str, Any] = {}
        for _ in range(PAGES):
            page = await self._fetch(lambda client: client.batches.with_streaming_response.list, limit=100, **after)
            batches = page.get("data") or []
            for batch in batches:
                if (batch.get("metadata") or {}).get("concerto") == name:
                    return str(batch["id"])
            if not batches or not page.get("has_more") or batches[-1].get("created_at", 0) < since - 3600:
                return None
            after = {"after": str(batches[-1]["id"])}
        return None


class AnthropicWire(Wire):
    """`/v1/messages/batches`."""

    def entry(self, id: str, body: Mapping[str, Any]) -> bytes:
        return json.dumps({"custom_id": id, "params": body}, ensure_ascii=False, separators=(",", ":")).encode()

    async def send(self, name: str, entries: list[bytes]) -> str:
        requests = [json.loads(entry) for entry in entries]
        batch = await self._fetch(lambda client: client.messages.batches.with_streaming_response.create, requests=requests)
        return str(batch["id"])

    async def is_over(self, job: str) -> bool:
        batch = await self._fetch(lambda client: client.messages.batches.with_streaming_response.retrieve, message_batch_id=job)
        return batch.get("processing_status") == "ended"

    async def lines(self, job: str) -> AsyncIterator[Line]:
        # The address in `results_url` is another server's word: the key goes to the connection's own address alone.
        create = listing(f"/v1/messages/batches/{job}/results")
        async for line in self.provider.lines(self._request(), {"extra_headers": {}}, create):
            if line.strip():
                data = json.loads(line)
                result = data.get("result") or {}
                if result.get("type") == "succeeded":
                    yield Line(str(data["custom_id"]), 200, json.dumps(result.get("message")).encode())
                elif result.get("type") == "errored":
                    yield Line(str(data["custom_id"]), 400, json.dumps(result.get("error")).encode())

    async def find(self, name: str, rows: int, since: float, known: set[str]) -> str | None:
        """As of `Wire`. A batch of Anthropic has no name of ours: one that was made at that time with so many requests is taken;
        the ids of its answers have our name, so that one of others brings nothing."""
        from datetime import datetime

        after: dict[str, Any] = {}
        for _ in range(PAGES):
            page = await self._fetch(lambda client: client.messages.batches.with_streaming_response.list, limit=100, **after)
            batches = page.get("data") or []
            for batch in batches:
                made = datetime.fromisoformat(str(batch["created_at"]).replace("Z", "+00:00")).timestamp()
                if made < since - 3600:
                    return None
                count = sum(value for value in (batch.get("request_counts") or {}).values() if isinstance(value, int))
                if made >= since - 60 and count == rows and batch["id"] not in known:
                    return str(batch["id"])
            if not batches or not page.get("has_more"):
                return None
            after = {"after_id": str(batches[-1]["id"])}
        return None


def wire_of(provider: Any) -> Wire | None:
    """Return the batches of a provider, None for one that has none here: other connections speak the same wires, and nobody says
    that they have batches."""
    if type(provider) is Anthropic:
        return AnthropicWire(provider)
    if isinstance(provider, OpenAIProvider) and provider.settings.row.name in ("openai", "custom"):
        if type(provider) is OpenAIChat:
            return OpenAIWire(provider, "/v1/chat/completions")
        if type(provider) is OpenAIResponses:
            return OpenAIWire(provider, "/v1/responses")
    return None
