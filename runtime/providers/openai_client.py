"""The client of the official OpenAI SDK, for every provider that speaks its wire (O-1.18, O-1.20 to O-1.22).

Hands on `OpenAIProvider`, which both of its APIs extend. Must not know: either API.
"""

from __future__ import annotations

from .sdk import SdkProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
