"""Claude at Amazon Bedrock, through Anthropic's own client for it (O-1.279, O-1.285, O-1.288 to O-1.290).

Hands on `Bedrock`, which `pool.py` makes by the row of a connection. The client puts the model id into the path and signs each
request; what else is different from `anthropic.py` stands here: who asks, frames in place of server-sent events, error statuses
of AWS, and the list of models, which another service of AWS gives.
"""

from __future__ import annotations

from .anthropic import Anthropic, listing
from .cloud_accounts import AwsAccount
from .event_frames import FrameReader
from .media import require_contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import Origin
    from ..records import Request, SideRequest
    from .http_answers import Reason
    from .patience import Patience

    Json = dict[str, Any]

# Read on 2026-11-27. The version that takes sampling parameters (Anthropic Claude Messages API,
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html). Images by link: "Only
# base64 sources" (Vision, https://platform.claude.com/docs/en/build-with-claude/vision). Structured outputs are there
# (https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-structured-outputs.html).
SAMPLING_VERSION = "bedrock-2023-05-31"
WORDS = "Claude at Bedrock"
# A model that fails, and an id that no model has, which AWS answers with statuses of its own
# (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html).
MODEL_FAILED = 424
NO_SUCH_MODEL = "model identifier is invalid"
RUNTIME, CONTROL = "://bedrock-runtime.", "://bedrock."  # of the addresses of AWS's two services
ON_DEMAND = "ON_DEMAND"  # a model that requests may name; the others are reached by the id of an inference profile
PAGE = 1000  # inference profiles that are asked for


class Bedrock(Anthropic):
    """The provider of the Messages API at Bedrock; `SdkProvider` calls its methods. `make_client` returns the SDK's client for
    Bedrock, which retries nothing. `let_in` gives a client without a key the keys of an AWS account, and raises CallFailure where
    there are none, TimeoutError when a limit of time runs out. `asked_as` returns the phrase that says how requests prove who
    asks. `lower` returns the arguments of a request, and raises NotSent also for media by link. `events_of` returns a reader of
    frames, `meaning` the HTTP status that one of AWS means, `sampled` the arguments for sampling parameters."""

    def make_client(self, sdk: Any, key: str, headers: dict[str, str], http_client: Any) -> Any:
        self._account = AwsAccount(self.settings, self._env, self._redactor)
        client = sdk.AsyncAnthropicBedrock(
            api_key=key,  # "" keeps the client from AWS_BEARER_TOKEN_BEDROCK (O-1.25)
            aws_region=self.settings.region,
            base_url=self.settings.base_url,
            max_retries=0,
            default_headers=headers,
            open_telemetry=False,
            http_client=http_client,
        )
        client.api_key = key or None
        client._custom_headers = headers  # without those of ANTHROPIC_CUSTOM_HEADERS
        return client

    async def let_in(self, client: Any, origin: Origin, patience: Patience) -> None:
        if client.api_key is None:
            keys = await self._account.keys(origin, patience)
            client.aws_access_key, client.aws_secret_key, client.aws_session_token = keys

    def asked_as(self) -> str:
        settings, env = self.settings, self._env
        if settings.api_key or env.get(settings.key_variable(env) or "", "").strip():
            return super().asked_as()
        return f"with the AWS profile {settings.profile}" if settings.profile else "with AWS credentials"

    def lower(self, request: Request) -> Json:
        require_contents(request, WORDS)
        return super().lower(request)

    def sampled(self, sampling: Json) -> Json:
        return {"extra_body": {**sampling, "anthropic_version": SAMPLING_VERSION}}

    def events_of(self) -> FrameReader:
        return FrameReader()

    def meaning(self, status: int, reason: Reason) -> int:
        if status == MODEL_FAILED:
            return 500
        return 404 if status == 400 and NO_SUCH_MODEL in reason.message else status

    async def model_ids(self, request: SideRequest) -> list[str]:
        """Return the ids of Anthropic's models that requests may name, and of the inference profiles that lead to models of
        Anthropic. Raises CallFailure."""
        base = (self.settings.base_url or "").rstrip("/").replace(RUNTIME, CONTROL, 1)
        models = await self.fetch(request, {}, listing(f"{base}/foundation-models?byProvider=anthropic"))
        profiles = await self.fetch(request, {}, listing(f"{base}/inference-profiles?maxResults={PAGE}"))
        with self.reading(request):
            ids = [
                row.text("modelId")
                for row in models.records("modelSummaries")
                if not row.has("inferenceTypesSupported") or ON_DEMAND in row.values("inferenceTypesSupported")
            ]
            ids += [row.text("inferenceProfileId") for row in profiles.records("inferenceProfileSummaries")]
            return [self._redactor.clean(id) for id in ids if "anthropic." in id]
