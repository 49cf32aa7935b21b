"""What providers refuse and what they bill, one row a rule, each with the public page or thread it stands in.

`confirmed` is the date on which the source was last read, or None where none was found: such a rule is what was measured or told
to us, and a mock enforces it all the same. A mock names the rule that a request broke.
"""

from __future__ import annotations

from typing import NamedTuple

READ = "2026-11-23"
READ_MEDIA = "2026-11-27"
AZURE_GUIDE = "Azure OpenAI REST API reference, https://learn.microsoft.com/azure/ai-foundry/openai/reference"
BEDROCK_GUIDE = "InvokeModel, https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html"
SDK = "; the client of the anthropic SDK, version 2.14"
BEDROCK_CLAUDE = (
    "Anthropic Claude models, https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-claude.html" + SDK
)
VERTEX_GUIDE = "Vertex AI API, https://docs.anthropic.com/en/api/claude-on-vertex-ai" + SDK
VISION = "Images and vision, https://platform.claude.com/docs/en/build-with-claude/vision"
DEEPSEEK_GUIDE = "Thinking Mode, https://api-docs.deepseek.com/guides/thinking_mode"
GEMINI_GUIDE = "Thought signatures, https://ai.google.dev/gemini-api/docs/thought-signatures"


class Rule(NamedTuple):
    name: str
    provider: str
    says: str
    source: str
    confirmed: str | None = READ


RULES = {
    rule.name: rule
    for rule in (
        # ------------------------------------------------------------ OpenAI, chat completions
        Rule(
            "chat-results",
            "openai-chat",
            "every call of an assistant message is answered by a tool message right behind it",
            "https://github.com/agno-agi/agno/issues/3105",
        ),
        Rule(
            "chat-orphans",
            "openai-chat",
            "a tool message answers a call of the assistant message before it",
            "https://community.openai.com/t/error-for-messages-assistant-tool-calls-id-object/626732",
            None,
        ),
        Rule(
            "chat-max-tokens",
            "openai-chat",
            "GPT-5 and later take max_completion_tokens instead of max_tokens",
            "https://github.com/langgenius/dify/issues/24307",
        ),
        Rule(
            "chat-sampling",
            "openai-chat",
            "GPT-5 and later take no other temperature or top_p than the default",
            "https://github.com/johny-b/llmcomp/issues/69",
        ),
        Rule(
            "chat-effort",
            "openai-chat",
            "from GPT-5.4 on function tools go with reasoning_effort none only, from 5.6 on it must be said",
            "https://github.com/BerriAI/litellm/pull/34569",
        ),
        Rule(
            "chat-strict",
            "openai-chat",
            "a strict schema closes every object and requires every property",
            "https://github.com/moeru-ai/xsai/issues/202",
        ),
        Rule(
            "openai-cache",
            "openai",
            "prefixes of at least 1024 tokens are read from the cache in steps of 128",
            "Prompt Caching 201, https://github.com/openai/openai-cookbook/blob/main/examples/Prompt_Caching_201.ipynb",
        ),
        Rule(
            "chat-files",
            "openai-chat",
            "a file is a PDF, given by its data",
            "File inputs, https://developers.openai.com/api/docs/guides/file-inputs",
            READ_MEDIA,
        ),
        Rule(
            "openai-pictures",
            "openai",
            "a picture is PNG, JPEG, WebP or GIF, and is what its data URL says",
            "Images and vision, https://developers.openai.com/api/docs/guides/images-vision",
            READ_MEDIA,
        ),
        # ------------------------------------------------------------ OpenAI, Responses
        Rule(
            "responses-outputs",
            "openai-responses",
            "every function_call has a function_call_output",
            "https://github.com/continuedev/continue/pull/11785",
        ),
        Rule(
            "responses-orphans",
            "openai-responses",
            "a function_call_output has a function_call before it",
            "https://github.com/james-6-23/codex2api/issues/414",
        ),
        Rule(
            "responses-unstored",
            "openai-responses",
            "with store=false a reasoning item comes with its encrypted content",
            "https://github.com/openai/openai-agents-python/issues/919",
        ),
        Rule(
            "responses-reasoning",
            "openai-responses",
            "a function_call with an id comes behind the reasoning item it was given with",
            "https://github.com/continuedev/continue/pull/11785",
        ),
        Rule(
            "responses-followed",
            "openai-responses",
            "a reasoning item is followed by the item it led to",
            "https://github.com/vercel/ai/issues/7099",
        ),
        Rule(
            "responses-include",
            "openai-responses",
            "a model without reasoning has no encrypted content to include",
            "",
            None,
        ),
        # ------------------------------------------------------------ Anthropic
        Rule(
            "anthropic-adaptive",
            "anthropic",
            "models before 4.6 take no adaptive thinking, only a number of tokens",
            "https://github.com/docker/docker-agent/issues/3362",
            "2026-11-27",
        ),
        Rule(
            "anthropic-enabled",
            "anthropic",
            "models from 4.7 on take no number of tokens for thinking, only adaptive thinking with an effort",
            "https://github.com/handochan/aelix-ai/issues/258",
            "2026-11-27",
        ),
        Rule(
            "anthropic-forced",
            "anthropic",
            "a model that thinks may not be forced to call a tool",
            "https://github.com/mastra-ai/mastra/issues/7507",
            "2026-11-27",
        ),
        Rule(
            "anthropic-budget",
            "anthropic",
            "the tokens for thinking are 1,024 at least and fewer than max_tokens",
            "the parameter types of the SDK, ThinkingConfigEnabledParam",
            "2026-11-27",
        ),
        Rule(
            "responses-summary",
            "openai-responses",
            "summaries of reasoning are for verified organisations only",
            "https://github.com/OpenHands/software-agent-sdk/issues/987",
            "2026-11-27",
        ),
        Rule("anthropic-max-tokens", "anthropic", "max_tokens is required", "the parameter types of the SDK"),
        Rule(
            "anthropic-results",
            "anthropic",
            "every tool_use has a tool_result in the next message",
            "https://github.com/anthropics/claude-code/issues/8210",
        ),
        Rule(
            "anthropic-orphans",
            "anthropic",
            "a tool_result has a tool_use in the message before",
            "https://github.com/anthropics/claude-code/issues/18947",
        ),
        Rule(
            "anthropic-blank",
            "anthropic",
            "text blocks hold more than white space",
            "https://github.com/anthropics/claude-code/issues/23352",
        ),
        Rule(
            "anthropic-thinking",
            "anthropic",
            "thinking blocks of the latest assistant message come back as they were",
            "https://github.com/anthropics/claude-code/issues/63284",
        ),
        Rule(
            "anthropic-signature",
            "anthropic",
            "a signature is one that was given",
            "https://github.com/lbjlaq/Antigravity-Manager/issues/498",
        ),
        Rule(
            "anthropic-first",
            "anthropic",
            "the final assistant message with tool_use begins with its thinking block",
            "https://github.com/anomalyco/opencode/issues/3077",
        ),
        Rule(
            "anthropic-picture",
            "anthropic",
            "a picture is of the media type that is said",
            "Images and vision, https://platform.claude.com/docs/en/build-with-claude/vision",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-size",
            "anthropic",
            "no side of a picture is longer than 8000 pixels",
            "Images and vision, https://platform.claude.com/docs/en/build-with-claude/vision",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-prefill",
            "anthropic",
            "the conversation ends with a user message",
            "https://github.com/langchain-ai/langchain/pull/36611",
        ),
        Rule(
            "anthropic-sampling",
            "anthropic",
            "from Opus 4.7 on there is no temperature, top_p or top_k",
            "https://github.com/rocketride-org/rocketride-server/issues/1194",
        ),
        Rule(
            "anthropic-cache",
            "anthropic",
            "up to 4 breakpoints, none on thoughts or empty text; what stands up to one, from 1024 tokens on, is written, read by"
            " requests that have it at most 20 blocks before one of theirs; input_tokens excludes both; lifetimes do not grow",
            "https://clawdemy.org/lessons/building-with-claude/prompt-caching-and-context-management/cheatsheet/, which quotes"
            " https://platform.claude.com/docs/en/build-with-claude/prompt-caching",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-hosted",
            "anthropic",
            "a hosted tool has a dated type and its name; domains are allowed or blocked, not both, and without a scheme",
            "Web search tool, https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-hosted-pairs",
            "anthropic",
            "a server_tool_use is followed by its result, there or, behind results of other tools, in the next message; a result"
            " has its server_tool_use before it",
            "https://github.com/gsd-build/gsd-2/pull/2870",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-pause",
            "anthropic",
            "a message that ends in pause_turn goes back as it came, as the last one, and the reply goes on with it",
            "Server tools, https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-encrypted",
            "anthropic",
            "encrypted_content of results and encrypted_index of citations come back as they were",
            "Web search tool, https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool",
            READ_MEDIA,
        ),
        Rule(
            "anthropic-container",
            "anthropic",
            "while a call that runs in a container waits, the request names the container",
            "https://github.com/anthropics/anthropic-sdk-python/issues/1801",
            READ_MEDIA,
        ),
        # ------------------------------------------------------------ hosted tools elsewhere
        Rule(
            "chat-search",
            "openai-chat",
            "only search models take web_search_options",
            "https://github.com/pydantic/pydantic-ai/issues/2822",
            READ_MEDIA,
        ),
        Rule(
            "responses-hosted",
            "openai-responses",
            "a hosted tool is web_search or code_interpreter with a container; max_tool_calls bounds all calls of such tools",
            "Web search, https://developers.openai.com/api/docs/guides/tools-web-search; the parameter types of the SDK",
            READ_MEDIA,
        ),
        Rule(
            "openai-citations",
            "openai",
            "start_index and end_index are those of a slice of the text in code points",
            "Introduction to the deep research API,"
            " https://cookbook.openai.com/examples/deep_research_api/introduction_to_deep_research_api",
            READ_MEDIA,
        ),
        Rule(
            "xai-hosted",
            "xai",
            "web search is a tool of the Responses API, with at most five domains, allowed or excluded, in its filters",
            "Web Search, https://docs.x.ai/developers/tools/web-search",
            READ_MEDIA,
        ),
        # ------------------------------------------------------------ Gemini over its OpenAI-compatible endpoint
        Rule(
            "gemini-signature",
            "gemini",
            "the first call of each step of the current turn brings its thought_signature back",
            GEMINI_GUIDE,
        ),
        Rule(
            "gemini-order",
            "gemini",
            "a turn with calls stands behind a user turn or a turn of results",
            "https://github.com/google-gemini/gemini-cli/issues/26486",
        ),
        Rule("gemini-results", "gemini", "as many results as calls", "https://github.com/microsoft/vscode/issues/299295"),
        Rule(
            "gemini-stream",
            "gemini",
            "streamed calls may have no index, or all the index 0, and end with the finish reason stop",
            "https://github.com/open-webui/computer/issues/224",
        ),
        # ------------------------------------------------------------ Azure
        Rule(
            "azure-path",
            "azure",
            "chat completions stand under /openai/deployments/NAME, the Responses API under /openai, both with an api-version",
            AZURE_GUIDE,
            READ_MEDIA,
        ),
        Rule(
            "azure-key",
            "azure",
            "a key stands in the header api-key, a token of Entra in Authorization",
            "Authentication & endpoints, https://nitinkc.github.io/AI-parameter-playbook/setup/auth-endpoints/, which quotes "
            + AZURE_GUIDE,
            READ_MEDIA,
        ),
        Rule(
            "azure-deployment",
            "azure",
            "a deployment that is not there is a status 404 with the code DeploymentNotFound",
            "https://github.com/microsoft/autogen/issues/822",
            READ_MEDIA,
        ),
        Rule(
            "azure-filter",
            "azure",
            "a prompt that the filter stops is a status 400 with the code content_filter",
            "https://www.developersdigest.tech/errors/api/azure-openai/404-not-found, which lists the errors of the reference",
            READ_MEDIA,
        ),
        Rule(
            "azure-annotations",
            "azure",
            "a stream begins with an event without choices, and may end with one whose choice has annotations and no delta",
            "Content streaming, https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-streaming",
            None,
        ),
        # ------------------------------------------------------------ Amazon Bedrock
        Rule(
            "bedrock-path",
            "bedrock",
            "POST /model/ID/invoke, or invoke-with-response-stream; neither model nor stream stands in the body",
            BEDROCK_GUIDE,
            READ_MEDIA,
        ),
        Rule(
            "bedrock-signature",
            "bedrock",
            "a request is signed by SigV4 for the service bedrock, or brings a key as a bearer",
            "AWS Signature Version 4, https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html" + SDK,
            READ_MEDIA,
        ),
        Rule("bedrock-version", "bedrock", "the body has an anthropic_version", BEDROCK_CLAUDE, READ_MEDIA),
        Rule(
            "cloud-sampling",
            "bedrock, vertex",
            "versions since 2026-10-21 take no temperature, top_p or top_k",
            "https://developersdigest.tech/blog/claude-api-version-2026-10-21-sdk-migration",
            READ_MEDIA,
        ),
        Rule("cloud-links", "bedrock, vertex", "pictures and documents come as data, not by link", VISION, READ_MEDIA),
        Rule(
            "bedrock-model",
            "bedrock",
            "an id that no model has is a ValidationException, status 400: the model identifier is invalid",
            "https://repost.aws/questions/QUHVYaQqJNQKWWbAUPYFVZdQ",
            None,
        ),
        Rule(
            "bedrock-frames",
            "bedrock",
            "a stream comes in frames with two CRCs; the payload of a chunk has an event as Base64 in `bytes`",
            "Event stream encoding, https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html; ResponseStream,"
            " https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html",
            READ_MEDIA,
        ),
        # ------------------------------------------------------------ Vertex AI
        Rule(
            "vertex-path",
            "vertex",
            "POST /projects/P/locations/R/publishers/anthropic/models/ID:rawPredict, or streamRawPredict; no model in the body",
            VERTEX_GUIDE,
            READ_MEDIA,
        ),
        Rule("vertex-version", "vertex", "the body has an anthropic_version", VERTEX_GUIDE, READ_MEDIA),
        Rule("vertex-token", "vertex", "an access token stands in Authorization", VERTEX_GUIDE, READ_MEDIA),
        # ------------------------------------------------------------ DeepSeek
        Rule(
            "deepseek-reasoning",
            "deepseek",
            "assistant messages with calls bring reasoning_content back, in later turns too",
            DEEPSEEK_GUIDE,
        ),
        Rule(
            "deepseek-results",
            "deepseek",
            "every call is answered right behind it",
            "https://github.com/langgenius/dify/issues/32222",
        ),
    )
}


class Broken(Exception):
    """A request broke a rule; `message` is what the provider says, `param` the parameter it names."""

    def __init__(self, rule: str, message: str, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.rule = RULES[rule]
        self.message = message
        self.param = param
        self.code = code
        self.status = status
