"""The wires of OpenAI at Azure, through the SDK's own client for it (O-1.278, O-1.284, O-1.286, O-1.290).

Hands on `AzureChat` and `AzureResponses`, which `pool.py` makes by the row of a connection. The model id is the name of a
deployment: the client puts it into the path of chat completions and embeddings. All else is as in `openai.py`.
"""

from __future__ import annotations

from .openai import OpenAIChat, OpenAIProvider, OpenAIResponses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Azure(OpenAIProvider):
    """What both wires share. `open` returns the SDK's client for Azure, which sends the key, or the token of Microsoft Entra ID
    where the connection says so; `proof` is the word for that one, "key" or "token", in messages."""

    lists_ids = False  # but the models that may be deployed

    def open(self, sdk: Any, key: str, **options: Any) -> Any:
        settings = self.settings
        proof = {"azure_ad_token" if settings.sends_token(self._env) else "api_key": key}
        return sdk.AsyncAzureOpenAI(azure_endpoint=settings.base_url, api_version=settings.api_version, **proof, **options)

    @property
    def proof(self) -> str:
        return "token" if self.settings.sends_token(self._env) else "key"


class AzureChat(Azure, OpenAIChat):
    """The wire `chat` at Azure."""


class AzureResponses(Azure, OpenAIResponses):
    """The wire `responses` at Azure."""
