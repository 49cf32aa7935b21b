"""The client of the official OpenAI SDK, for every provider that speaks its wire (O-1.18, O-1.20 to O-1.22).

Hands on `OpenAIProvider`, which both of its APIs extend; embeddings are the same beside either. Must not know: either API.
"""

from __future__ import annotations

from .base import origin_of
from .json_fields import Unreadable
from .sdk import SdkProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..records import EmbedRequest
    from .json_fields import Fields


LARGEST = 1e9  # of a part of a vector, so that no sum of squares leaves Float


class OpenAIProvider(SdkProvider):
    package = "openai"

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        settings = self.settings
        client = sdk.AsyncOpenAI(
            api_key=key,
            organization=settings.organization,
            project=settings.project,
            base_url=settings.base_url,
            max_retries=0,
            default_headers=headers,
            http_client=http_client,
        )
        # What the SDK took from OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS has no effect (O-1.25).
        client.organization = settings.organization
        client.project = settings.project
        client.admin_api_key = None
        client._custom_headers = headers
        return client

    async def embed(self, request: EmbedRequest) -> list[list[float]]:
        arguments = {"model": request.model, "input": request.texts, "encoding_format": "float"}
        data = await self.asked(request, arguments, lambda client: client.embeddings.with_streaming_response.create)
        try:
            return _vectors(data, len(request.texts))
        except Unreadable as unreadable:
            raise origin_of(request).invalid_response(str(unreadable)) from None


def _vectors(data: Fields, count: int) -> list[list[float]]:
    """In the order of the texts, whatever that of the reply."""
    entries = data.records("data")
    rows = {entry.position("index"): _vector(entry) for entry in entries}
    if len(entries) != count or sorted(rows) != list(range(count)):
        raise Unreadable("the reply has another number of embeddings")
    return [rows[number] for number in range(count)]


def _vector(entry: Fields) -> list[float]:
    values = entry.values("embedding")
    if not values or not all(type(value) in (int, float) and abs(value) <= LARGEST for value in values):
        raise Unreadable(f"{entry.place}.embedding is no list of numbers of at most {LARGEST:g}")
    return values
