"""The providers a connection may name: one row each (O-1.3, O-1.18 to O-1.23, O-1.270 to O-1.279, O-1.282).

What the checker says of connections, the defaults of connections, the class that sends their requests, the templates of `concerto
init` and the notes on prompt caches are read from `PROVIDERS`, and no other file of the product lists providers. The table stands
here because compiler and runtime both read it; the machine does not (V-1.8).

Hands on `PROVIDERS` to the compiler (checker, fields, manifest), the commands `compile`, `init` and `models`, to
`runtime/telemetry.py` and, with `ProviderRow`, to `runtime/connections.py`, `PREDECLARED` to the checker, `models` and
`runtime/connections.py`, `WRITTEN` to the checker and `runtime/providers/sdk.py`, `two_accounts` to the checker, which takes
TWO_ACCOUNTS too, and `runtime/connections.py`, `APIS` to `declaration_fields.py`, the forms of a prompt cache, MARKS and NAME, to
`runtime/prompt_cache.py`, the latter also to the checker and `runtime/calls/call.py`, and TOTAL_USES to
`runtime/providers/openai.py`. Nothing is sent here, and no key or variable of the environment read: that is `runtime/`. A wire is
the form of the requests of one API; a new provider is a row of `_ROWS`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PictureTokens:
    """The tokens of a picture by what a provider publishes. It is scaled so that no side is longer than `longest` pixels (0: it
    keeps its size), and cut into squares of `side` pixels, each of which costs `factor` tokens; the sum is rounded up and is
    `most` at most. With `side` 0 every picture has `most`."""

    __slots__ = ("side", "longest", "factor", "most")

    def __init__(self, side: int, longest: int, factor: float, most: int) -> None:
        self.side = side
        self.longest = longest
        self.factor = factor
        self.most = most

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of a picture that is `width` pixels wide and `height` pixels high."""
        if not self.side:
            return self.most
        longer = max(width, height)
        if self.longest and longer > self.longest:
            width, height = (max(each * self.longest // longer, 1) for each in (width, height))
        squares = -(-width // self.side) * -(-height // self.side)
        return int(min(-(-squares * self.factor // 1), self.most))


# Read on 2026-11-27. Anthropic: squares of 28 pixels, sides up to 2576, which is what a picture costs at most: older models scale
# to 1568 (Images and vision, https://platform.claude.com/docs/en/build-with-claude/vision).
# OpenAI: patches of 32 pixels (Images and vision, https://developers.openai.com/api/docs/guides/images-vision), from GPT-5.2 on
# counted 1.2 times (https://community.openai.com/t/1372291), 10,000 of them at most.
# Google: 1,120 at the default resolution of Gemini 3 (https://ai.google.dev/gemini-api/docs/media-resolution).
# What all three bill is measured in https://huggingface.co/datasets/JOHNISKING/image-token-cost.
ANTHROPIC_PICTURE = PictureTokens(28, 2576, 1.0, 8_464)
OPENAI_PICTURE = PictureTokens(32, 0, 1.2, 12_000)
GOOGLE_PICTURE = PictureTokens(0, 0, 1.0, 1_120)


if TYPE_CHECKING:
    HostedTools = Mapping[str, Mapping[str, str]]

# Tools that providers run themselves (O-1.213): by type the fields that they take, with their names on the wire, read on
# 2026-11-27. OpenAI, where `max_uses` is one limit for all of them: https://developers.openai.com/api/docs/guides/tools-web-search
# and ./tools-code-interpreter; in chat completions only its search models take the tool. Anthropic:
# https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool and ./code-execution-tool. xAI:
# https://docs.x.ai/developers/tools/web-search. Mistral and Groq have such tools, too, but answer with them in forms of their own
# (https://docs.mistral.ai/cookbooks/mistral-connectors-05-connectors-in-completions, https://console.groq.com/docs/browser-search).
TOTAL_USES = "max_tool_calls"
NO_TOOLS: Mapping[str, HostedTools] = {}
LOCATED: Mapping[str, str] = {"user_location": "user_location", "context_size": "search_context_size"}
OPENAI_HOSTED: Mapping[str, HostedTools] = {
    "responses": {
        "web_search": {"max_uses": TOTAL_USES, "allowed_domains": "allowed_domains", **LOCATED},
        "code_execution": {"max_uses": TOTAL_USES, "memory": "memory_limit"},
    },
    "chat": {"web_search": LOCATED},
}
ANTHROPIC_HOSTED: Mapping[str, HostedTools] = {
    "messages": {
        "web_search": {
            **{name: name for name in ("max_uses", "allowed_domains", "blocked_domains", "user_location")}, "version": "type",
        },
        "code_execution": {"version": "type"},
    },
}  # fmt: skip
XAI_HOSTED: Mapping[str, HostedTools] = {
    "responses": {"web_search": {"allowed_domains": "allowed_domains", "blocked_domains": "excluded_domains"}},
}
# Offline there is no wire: each tool has all its fields.
EVERY_HOSTED: Mapping[str, HostedTools] = {
    "": {
        kind: {
            name: name
            for rows in (OPENAI_HOSTED["responses"], ANTHROPIC_HOSTED["messages"])
            for name in rows[kind]
        }
        for kind in OPENAI_HOSTED["responses"]
    },
}  # fmt: skip

NO_ADDRESSES: Mapping[str, str] = {}
NO_VARIABLES: Mapping[str, tuple[str, ...]] = {}


class ProviderRow:
    """What a provider brings by itself.

    `wires`: by API the class that sends requests, as `module.Class` of `runtime/providers/`; the first is the API of `auto`, at
    another address than `base_url` that is `elsewhere`, if given. Without wires the offline provider answers. `fields`: those
    that only some providers carry and this one does; `api` is carried by whoever has several wires.

    `base_url` may hold `{region}`, in whose place the field `region` stands; `region_urls`: the addresses of regions that have
    another. `needs`: fields without which nothing can be asked; `variables`: by field the variables of the environment that give
    it where nothing else does, the first that is set (O-1.287).

    `key_variable` is the default of `api_key_env`, `stand_in_key` what is sent where no variable is named, `key_shape` the
    pattern of its keys. `token_variable`: of a token that is taken in place of a key (O-1.286). `account`: the names of the
    variables of an account whose credentials are used without a key, None where a key is the only way in (O-1.288).
    `max_tokens_name`: of the parameter in the API `chat`. `structured`: what `auto` means (O-1.15); `prompt_cache`: how a request
    says what the provider keeps of it (O-1.220), by marks in it (MARKS) or by a name (NAME), "" for not at all.
    `strict_schemas_only`: its native schemas have neither optional keys nor recursion (O-2.42). `bills_prefixes_less`: tokens of
    a cached prefix cost less. `default_model`: of the predeclared connection. `starter`: the connection and the model id that
    `concerto init` writes. `nicknames`: other words that people write for it, for the help of a wrong provider. `picture`: what
    it publishes of the tokens of pictures, None for nothing. `address_ends`: how the path of an address of such an API ends;
    `served_by`: the command that starts a server on this machine; `embeddings_model`: a model for embeddings, in helps. `hosted`:
    the tools that it runs itself, by API and type, with the fields that they take there, each with its name on the wire
    (O-1.213); without wires under "". `telemetry_name`: what OpenTelemetry's conventions call it, where that is another word
    (O-9.81).
    """

    __slots__ = (
        "name", "wires", "elsewhere", "base_url", "key_variable", "stand_in_key", "key_shape", "fields", "max_tokens_name",
        "structured", "prompt_cache", "strict_schemas_only", "bills_prefixes_less", "default_model", "starter", "nicknames",
        "picture", "address_ends", "served_by", "embeddings_model", "hosted", "region_urls", "needs", "variables",
        "token_variable", "account", "telemetry_name",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        wires: Mapping[str, str],
        *,
        elsewhere: str | None = None,
        base_url: str | None = None,
        key_variable: str | None = None,
        stand_in_key: str | None = None,
        key_shape: str | None = None,
        fields: Sequence[str] = (),
        max_tokens_name: str = "max_tokens",
        structured: str = "native",
        prompt_cache: str = "",
        strict_schemas_only: bool = False,
        bills_prefixes_less: bool = False,
        default_model: str | None = None,
        starter: tuple[str, str] | None = None,
        nicknames: tuple[str, ...] = (),
        picture: PictureTokens | None = None,
        address_ends: str = "/v1",
        served_by: str | None = None,
        embeddings_model: str | None = None,
        hosted: Mapping[str, HostedTools] = NO_TOOLS,
        region_urls: Mapping[str, str] = NO_ADDRESSES,
        needs: tuple[str, ...] = (),
        variables: Mapping[str, tuple[str, ...]] = NO_VARIABLES,
        token_variable: str | None = None,
        account: tuple[str, ...] | None = None,
        telemetry_name: str | None = None,
    ) -> None:
        self.name = name
        self.wires = wires
        self.elsewhere = elsewhere
        self.base_url = base_url
        self.key_variable = key_variable
        self.stand_in_key = stand_in_key
        self.key_shape = key_shape
        self.fields = fields
        self.max_tokens_name = max_tokens_name
        self.structured = structured
        self.prompt_cache = prompt_cache
        self.strict_schemas_only = strict_schemas_only
        self.bills_prefixes_less = bills_prefixes_less
        self.default_model = default_model
        self.starter = starter
        self.nicknames = nicknames
        self.picture = picture
        self.address_ends = address_ends
        self.served_by = served_by
        self.embeddings_model = embeddings_model
        self.hosted = hosted
        self.region_urls = region_urls
        self.needs = needs
        self.variables = variables
        self.token_variable = token_variable
        self.account = account
        self.telemetry_name = telemetry_name or name

    @property
    def needs_base_url(self) -> bool:
        """Whether it sends requests, and nothing but a declaration gives its address (O-1.22)."""
        return bool(self.wires) and self.base_url is None and "base_url" not in self.variables

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables of its keys where a connection names none, those that count more first."""
        return tuple(name for name in (self.token_variable, self.key_variable) if name is not None)

    def address(self, region: str | None) -> str | None:
        """Return the base URL of a connection whose declaration gives none, for its field `region` (None if not set); None where
        there is no such address, or a region is needed and missing."""
        if self.base_url is None or "{region}" not in self.base_url:
            return self.base_url
        return None if region is None else self.region_urls.get(region, self.base_url.replace("{region}", region))

    @property
    def has_embeddings(self) -> bool:
        """Whether its API has embeddings, as far as its wires tell: all speak them but those of Anthropic (O-1.240)."""
        return "messages" not in self.wires

    def carries(self, field: str) -> bool:
        """Return whether a connection of this provider may have the field; True for a name that is no field (O-1.12, O-1.14,
        O-1.34)."""
        if field == "api":
            return len(self.wires) > 1
        return field in self.fields or field not in CARRIED_BY_SOME

    def api(self, chosen: str, base_url: str | None) -> str:
        """Return the key of the wire for the fields `api` and `base_url` (None if not set) of a connection, "" without wires
        (O-1.14). An API that is not this provider's counts as `auto`: a host may put another provider in place of the one that a
        program names."""
        if chosen in self.wires:
            return chosen
        if self.elsewhere is not None and base_url not in (None, self.base_url):
            return self.elsewhere
        return next(iter(self.wires), "")

    def lacks(self, api: str, tools: Sequence[Mapping[str, object]]) -> tuple[int, str, str, str] | None:
        """Return what of hosted tools, as `hosted_fault` lets them pass, a connection with this API does not carry: the place of
        the first such tool, from 0, the name of the part, what is not carried, and what there is instead; None when it carries
        all."""
        known = self.hosted.get(api, {})
        where = f"the {api} API of provider `{self.name}`" if len(self.wires) > 1 else f"provider `{self.name}`"
        for at, tool in enumerate(tools):
            kind = str(tool["type"])
            if kind not in known:
                return at, "type", f'the hosted tool "{kind}" is not carried by {where}', self._there_is(api, kind)
            given = [name for name, part in tool.items() if name != "type" and part is not None]
            for name in given:
                if name not in known[kind]:
                    fields = ", ".join(f"`{field}`" for field in known[kind]) or "none"
                    return at, name, f'`{name}` of the hosted tool "{kind}" is not carried by {where}', f"it takes {fields}"
            if "max_uses" in given and known[kind]["max_uses"] == TOTAL_USES and len(tools) > 1:
                words = f"`max_uses` of one of several hosted tools is not carried by {where}"
                return at, "max_uses", words, "there it is one limit for all: write one tool, or no `max_uses`"
        return None

    def _there_is(self, api: str, kind: str) -> str:
        """Return what there is in place of a hosted tool that an API of this provider does not have."""
        elsewhere = next((other for other, tools in self.hosted.items() if kind in tools and other), None)
        if elsewhere is not None:
            return f'use `api: "{elsewhere}"`'
        known = [f'"{name}"' for name in self.hosted.get(api, {})]
        if known:
            return f"it has {' and '.join(known)}"
        others = [f"`{row.name}`" for row in _ROWS if row.base_url and any(kind in tools for tools in row.hosted.values())]
        return f"it has no hosted tools; {', '.join(others)} have this one"


KEY_FIELDS = ("api_key", "api_key_env")


def two_accounts(row: ProviderRow, fields: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the names of two fields of a connection that both say who asks, "profile" and then one of KEY_FIELDS; None where
    there are no such two (O-1.285). `fields`: those that the connection sets, by name."""
    key = next((name for name in KEY_FIELDS if fields.get(name)), None)
    has_both = key is not None and fields.get("profile") is not None and "profile" in row.fields
    return ("profile", str(key)) if has_both else None


TWO_ACCOUNTS = "has `profile` and a key, which each say who asks"


# By wire, the parts of a request's body that Concerto writes itself: `extra` may not set them (O-1.211).
WRITTEN = {
    "chat": frozenset((
        "model", "messages", "tools", "tool_choice", "temperature", "top_p", "max_tokens", "max_completion_tokens", "stop",
        "reasoning_effort", "response_format", "stream", "stream_options", "prompt_cache_key", "web_search_options",
    )),
    "responses": frozenset((
        "model", "input", "instructions", "store", "include", "tools", "tool_choice", "temperature", "top_p", "max_output_tokens",
        "reasoning", "text", "stream", "prompt_cache_key", "max_tool_calls",
    )),
    "messages": frozenset((
        "model", "messages", "system", "tools", "tool_choice", "temperature", "top_p", "max_tokens", "stop_sequences", "thinking",
        "output_config", "stream", "container",
    )),
}  # fmt: skip

MARKS, NAME = "marks", "name"  # forms of `prompt_cache`
RESPONSES, CHAT = "openai.OpenAIResponses", "openai.OpenAIChat"
CHAT_FIRST = {"chat": CHAT, "responses": RESPONSES}
SK_KEY = "sk-[A-Za-z0-9_-]{20,}"

_ROWS = (
    ProviderRow(
        "openai", {"responses": RESPONSES, "chat": CHAT}, elsewhere="chat",
        base_url="https://api.openai.com/v1", key_variable="OPENAI_API_KEY", key_shape=SK_KEY,
        fields=("organization", "project", "cache_prompt"), max_tokens_name="max_completion_tokens", prompt_cache=NAME,
        bills_prefixes_less=True, starter=("openai", "gpt-5.4-mini"),
        nicknames=("gpt", "chatgpt"), picture=OPENAI_PICTURE, embeddings_model="text-embedding-3-small",
        hosted=OPENAI_HOSTED,
    ),
    ProviderRow(
        "anthropic", {"messages": "anthropic.Anthropic"},
        base_url="https://api.anthropic.com", key_variable="ANTHROPIC_API_KEY", key_shape=SK_KEY, strict_schemas_only=True,
        fields=("cache_prompt",), prompt_cache=MARKS,
        bills_prefixes_less=True, starter=("anthropic", "claude-haiku-5-5"), nicknames=("claude",), picture=ANTHROPIC_PICTURE,
        address_ends="", hosted=ANTHROPIC_HOSTED,
    ),
    ProviderRow(
        "google", {"chat": "openai.GoogleChat", "responses": RESPONSES},
        telemetry_name="gcp.gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/", key_variable="GEMINI_API_KEY",
        key_shape="AIza[A-Za-z0-9_-]{35}", bills_prefixes_less=True, nicknames=("gemini",),
        picture=GOOGLE_PICTURE, embeddings_model="gemini-embedding-001",
    ),
    ProviderRow(
        "ollama", CHAT_FIRST,
        base_url="http://localhost:11434/v1", stand_in_key="ollama", starter=("local", "llama3.1"), served_by="ollama serve",
        embeddings_model="nomic-embed-text",
    ),
    # What these take is said in their own references, read on 2026-11-27; each speaks OpenAI's chat completions.
    ProviderRow(
        "openrouter", CHAT_FIRST, base_url="https://openrouter.ai/api/v1", key_variable="OPENROUTER_API_KEY", key_shape=SK_KEY,
    ),
    ProviderRow(
        "mistral", {"chat": CHAT}, base_url="https://api.mistral.ai/v1", key_variable="MISTRAL_API_KEY",
        telemetry_name="mistral_ai",
        fields=("cache_prompt",), prompt_cache=NAME, bills_prefixes_less=True, embeddings_model="mistral-embed",
    ),
    ProviderRow(
        "groq", CHAT_FIRST, base_url="https://api.groq.com/openai/v1", key_variable="GROQ_API_KEY",
        key_shape="gsk_[A-Za-z0-9]{20,}", max_tokens_name="max_completion_tokens", structured="tool", bills_prefixes_less=True,
    ),
    ProviderRow(
        "together", {"chat": CHAT}, base_url="https://api.together.ai/v1", key_variable="TOGETHER_API_KEY", structured="tool",
    ),
    ProviderRow(
        "deepseek", {"chat": CHAT}, base_url="https://api.deepseek.com", key_variable="DEEPSEEK_API_KEY", key_shape=SK_KEY,
        structured="prompt", bills_prefixes_less=True, address_ends="",
    ),
    ProviderRow(
        "xai", CHAT_FIRST, base_url="https://api.x.ai/v1", key_variable="XAI_API_KEY", key_shape="xai-[A-Za-z0-9]{20,}",
        telemetry_name="x_ai",
        bills_prefixes_less=True, nicknames=("grok", "x.ai"), hosted=XAI_HOSTED,
    ),
    ProviderRow("vllm", CHAT_FIRST, base_url="http://localhost:8000/v1", stand_in_key="none", served_by="vllm serve MODEL"),
    ProviderRow(
        "lmstudio", CHAT_FIRST, base_url="http://localhost:1234/v1", stand_in_key="none", served_by="lms server start",
        nicknames=("lm-studio",),
    ),
    # These go through the clients that the SDKs have for them. What their variables are called is said in those clients (openai
    # 3.57, anthropic 2.14), what the platforms carry in `runtime/providers/azure.py` and its neighbours.
    ProviderRow(
        "azure", {"chat": "azure.AzureChat", "responses": "azure.AzureResponses"}, key_variable="AZURE_OPENAI_API_KEY",
        telemetry_name="azure.ai.openai",
        token_variable="AZURE_OPENAI_AD_TOKEN", needs=("base_url", "api_version"),
        variables={"base_url": ("AZURE_OPENAI_ENDPOINT",), "api_version": ("OPENAI_API_VERSION",)},
        fields=("api_version", "auth", "cache_prompt"), max_tokens_name="max_completion_tokens", prompt_cache=NAME,
        bills_prefixes_less=True, nicknames=("azure-openai", "azure_openai", "azureopenai", "microsoft", "foundry"),
        picture=OPENAI_PICTURE, address_ends="",
    ),
    ProviderRow(
        "bedrock", {"messages": "bedrock.Bedrock"}, base_url="https://bedrock-runtime.{region}.amazonaws.com",
        telemetry_name="aws.bedrock",
        key_variable="AWS_BEARER_TOKEN_BEDROCK", account=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        needs=("region",),
        variables={"region": ("AWS_REGION", "AWS_DEFAULT_REGION"), "base_url": ("ANTHROPIC_BEDROCK_BASE_URL",)},
        fields=("region", "profile", "cache_prompt"), prompt_cache=MARKS, strict_schemas_only=True, bills_prefixes_less=True,
        nicknames=("aws", "amazon", "aws-bedrock", "amazon-bedrock"), picture=ANTHROPIC_PICTURE, address_ends="",
    ),
    ProviderRow(
        "vertex", {"messages": "vertex.Vertex"}, base_url="https://{region}-aiplatform.googleapis.com/v1",
        telemetry_name="gcp.vertex_ai",
        region_urls={
            "global": "https://aiplatform.googleapis.com/v1", "us": "https://aiplatform.us.rep.googleapis.com/v1",
            "eu": "https://aiplatform.eu.rep.googleapis.com/v1",
        },
        account=(), needs=("region", "project"),
        variables={
            "region": ("CLOUD_ML_REGION",), "project": ("ANTHROPIC_VERTEX_PROJECT_ID",),
            "base_url": ("ANTHROPIC_VERTEX_BASE_URL",),
        },
        fields=("region", "project", "cache_prompt"), structured="tool", prompt_cache=MARKS, strict_schemas_only=True,
        bills_prefixes_less=True, nicknames=("vertexai", "vertex-ai", "google-vertex", "gcp"), picture=ANTHROPIC_PICTURE,
    ),
    ProviderRow(
        "custom", CHAT_FIRST, stand_in_key="none", structured="prompt", fields=("cache_prompt",), prompt_cache=NAME,
        hosted=OPENAI_HOSTED,
    ),
    ProviderRow("offline", {}, fields=("replies", "cache_prompt"), default_model="offline-1", starter=("offline", "offline-1"),
                hosted=EVERY_HOSTED),
)  # fmt: skip
PROVIDERS = {row.name: row for row in _ROWS}

APIS = tuple(dict.fromkeys(api for row in _ROWS if row.carries("api") for api in row.wires))
# Fields of connections that only some providers carry.
CARRIED_BY_SOME = frozenset(("api", *(field for row in _ROWS for field in row.fields)))

# Connections that are there without a declaration (O-1.3), with what is known of them.
PREDECLARED: dict[str, dict[str, object]] = {
    row.name: {"provider": row.name, **({} if row.default_model is None else {"default_model": row.default_model})}
    for row in _ROWS
    if not row.needs_base_url
}
