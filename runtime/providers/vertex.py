"""Claude at Google Cloud (Vertex AI), through Anthropic's own client for it (O-1.282, O-1.283, O-1.288, O-1.289).

Hands on `Vertex`, which `pool.py` makes by the row of a connection. The client puts project, region and model id into the path;
what else is different from `anthropic.py` stands here: who asks, and the list of models. How messages are written and replies
read is `anthropic.py`, where the token of a Google account comes from `cloud_accounts.py`.
"""

from __future__ import annotations

from .anthropic import Anthropic, listing
from .cloud_accounts import GoogleAccount
from .media import require_contents
from .sdk import MOST_MODELS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import Origin
    from ..records import Request, SideRequest
    from .patience import Patience

    Json = dict[str, Any]

# Read on 2026-11-27. The version that takes sampling parameters (Vertex AI API,
# https://docs.anthropic.com/en/api/claude-on-vertex-ai). Images by link: "Only base64 sources" (Vision,
# https://platform.claude.com/docs/en/build-with-claude/vision). Structured outputs are there, but off until the organisation
# allows them (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/structured_outputs).
SAMPLING_VERSION = "vertex-2023-10-16"
WORDS = "Claude at Vertex AI"
# The list of models is in a newer version of the API (publishers.models.list,
# https://googleapis.github.io/google-api-python-client/docs/dyn/aiplatform_v1beta1.publishers.models.html).
VERSION, LISTING_VERSION = "/v1", "/v1beta1"
PAGE = 100  # models that are asked for at a time


class Vertex(Anthropic):
    """The provider of the Messages API at Vertex AI; `SdkProvider` calls its methods, `Anthropic` `sampled`, `concerto models`
    `model_ids` and `asked_as`. `make_client` returns the SDK's client for Vertex AI, which retries nothing. `let_in` gives a
    client without a token of its own that of a Google account, and raises CallFailure where there is none, TimeoutError when a
    limit of time runs out. `asked_as` returns the phrase that says how requests prove who asks, `proof` the word for what the
    connection names. `lower` returns the arguments of a request, and raises NotSent also for media by link; `sampled` returns
    those for sampling parameters."""

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        self._account = GoogleAccount(self.settings, self._env, self._redactor)
        client = sdk.AsyncAnthropicVertex(
            region=self.settings.region,
            project_id=self.settings.project,
            access_token=key or None,
            base_url=self.settings.base_url,
            max_retries=0,
            default_headers=headers,
            open_telemetry=False,
            http_client=http_client,
        )
        client._custom_headers = headers  # without those of ANTHROPIC_CUSTOM_HEADERS (O-1.25)
        self._has_key = bool(key)
        return client

    async def let_in(self, client: Any, origin: Origin, patience: Patience) -> None:
        if not self._has_key:
            client.access_token = await self._account.token(origin, patience)

    def asked_as(self) -> str:
        return super().asked_as() if self.settings.names_key else "with Google credentials"

    @property
    def proof(self) -> str:
        return "token"

    def lower(self, request: Request) -> Json:
        require_contents(request, WORDS)
        return super().lower(request)

    def sampled(self, sampling: Json) -> Json:
        return {"extra_body": {**sampling, "anthropic_version": SAMPLING_VERSION}}

    async def model_ids(self, request: SideRequest) -> list[str]:
        """Return the ids of the models of Anthropic that Vertex AI has, whether the project may use them or not, at most
        MOST_MODELS. Raises CallFailure."""
        base = (self.settings.base_url or "").rstrip("/").removesuffix(VERSION) + LISTING_VERSION
        address = f"{base}/publishers/anthropic/models?pageSize={PAGE}"
        ids: list[str] = []
        token = ""
        while True:
            data = await self.fetch(request, {}, listing(address + token, {"x-goog-user-project": self.settings.project or ""}))
            with self.reading(request):
                page = [row.text("name").rpartition("/")[2] for row in data.records_or("publisherModels")]
                ids += [self._redactor.clean(id) for id in page]
                next_page = data.text_or("nextPageToken")
            if not page or not next_page or len(ids) >= MOST_MODELS:
                return ids[: MOST_MODELS]
            token = f"&pageToken={next_page}"
