"""The models of `mocks.py` as Azure, Amazon Bedrock and Vertex AI offer them: who may ask, where a request goes, how a stream
comes, and what an error looks like. The signature of a request is made again by botocore, and compared."""

from __future__ import annotations

import json
import re
import struct
from base64 import b64encode
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from zlib import crc32

from .mocks import KEY, Anthropic, OpenAIChat, OpenAIResponses, Said
from .rules import Broken

Json = dict[str, Any]
Answer = tuple[int, str, bytes]
API_VERSION = "2024-10-21"
REGION, PROJECT = "eu-north-1", "project-7"
ACCESS_KEY, SECRET_KEY, SESSION_TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI-secret-of-the-tests", "session-token-of-the-tests"


def as_json(status: int, body: Any) -> Answer:
    return status, "application/json", json.dumps(body).encode()


# ---------------------------------------------------------------- Azure


class AzureMixin:
    """`token` is what a token has to be; None where a key is asked for."""

    base = ""
    api_versions = (API_VERSION,)
    token: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []  # versions of the API that were asked for vectors

    def let_in(self, headers: Json) -> None:
        given = headers.get("api-key"), headers.get("authorization")
        if given != ((None, f"Bearer {self.token}") if self.token else (KEY, None)):
            words = "Access denied due to invalid subscription key or wrong API endpoint."
            raise Broken("azure-key", words, code="401", status=401)

    def answer(self, path: str, headers: Json, body: Json) -> Answer:
        where = urlsplit(path)
        try:
            self.let_in({name.lower(): value for name, value in headers.items()})
            version = parse_qs(where.query).get("api-version", [""])[0]
            if where.path == f"/openai/deployments/{body['model']}/embeddings":
                self.embedded.append(version)
                rows = [{"index": at, "embedding": [1.0, float(len(text))]} for at, text in enumerate(body["input"])]
                return as_json(200, {"data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}})
            if version not in self.api_versions or where.path != self.place(body):
                raise Broken("azure-path", "Resource not found", code="404", status=404)
            if body["model"] == "gone":
                words = "The API deployment for this resource does not exist."
                raise Broken("azure-deployment", words, code="DeploymentNotFound", status=404)
            if "forbidden" in json.dumps(body):
                words = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
                raise Broken("azure-filter", words, "prompt", "content_filter")
        except Broken as broken:
            self.seen.append(body)  # type: ignore[attr-defined]
            self.broken.append(broken.rule.name)  # type: ignore[attr-defined]
            return as_json(broken.status, self.error(broken))  # type: ignore[attr-defined]
        return super().answer(self.base + self.path, headers, body)  # type: ignore[misc, no-any-return]

    def place(self, body: Json) -> str:
        raise NotImplementedError

    def listed(self, path: str, headers: Json) -> Answer:
        where = urlsplit(path)
        if headers.get("api-key") != KEY:
            return as_json(401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}})
        assert where.path == "/openai/models" and parse_qs(where.query) == {"api-version": [API_VERSION]}
        return as_json(200, {"object": "list", "data": [{"id": id, "object": "model"} for id in ("gpt-2", "gpt-1")]})


class AzureChat(AzureMixin, OpenAIChat):
    def place(self, body: Json) -> str:
        return f"/openai/deployments/{body['model']}/chat/completions"

    def events(self, said: Said, usage: Json, body: Json) -> list[Json]:
        """azure-annotations"""
        results = {"hate": {"filtered": False, "severity": "safe"}}
        first = {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
        checked = {"index": 0, "finish_reason": None, "content_filter_results": results, "content_filter_offsets": {}}
        return [first, *super().events(said, usage, body), {"id": "", "object": "", "model": "", "choices": [checked]}]


class AzureResponses(AzureMixin, OpenAIResponses):
    def place(self, body: Json) -> str:
        return "/openai/responses"


# ---------------------------------------------------------------- Bedrock and Vertex AI, what both share


class CloudAnthropic(Anthropic):
    """`versions` are those that a body may have; those in `old` take sampling parameters."""

    versions: tuple[str, ...]
    old: str
    rule: str

    def check_version(self, body: Json) -> None:
        version = body.get("anthropic_version")
        if version not in self.versions:
            raise Broken(f"{self.rule}-version", "anthropic_version: Field required")
        if version != self.old and {"temperature", "top_p", "top_k"} & body.keys():
            raise Broken("cloud-sampling", "temperature: this field is not supported in this API version")
        if '"type": "url"' in json.dumps(body):
            raise Broken("cloud-links", "messages: URL sources are not supported")

    def denied(self, broken: Broken, path: str, body: Json) -> Answer:
        self.seen.append(self.body_of(path, body))
        self.broken.append(broken.rule.name)
        return as_json(broken.status, self.error(broken))

    def body_of(self, path: str, body: Json) -> Json:
        """As the Messages API itself has it."""
        model, streams = self.asks_for(path)
        rest = {name: value for name, value in body.items() if name != "anthropic_version"}
        return {"model": model, **rest, **({"stream": True} if streams else {})}

    def asks_for(self, path: str) -> tuple[str, bool]:
        """The model, and whether the reply shall come as a stream."""
        raise NotImplementedError


# ---------------------------------------------------------------- Bedrock


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """bedrock-frames"""
    packed = b""
    for name, value in headers.items():
        packed += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    message = prelude + struct.pack(">I", crc32(prelude)) + packed + payload
    return message + struct.pack(">I", crc32(message))


def chunk(event: Json) -> bytes:
    payload = json.dumps({"bytes": b64encode(json.dumps(event).encode()).decode(), "p": "abcdefg"}).encode()
    return frame({":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}, payload)


def exception(kind: str, message: str) -> bytes:
    payload = json.dumps({"message": message}).encode()
    return frame({":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}, payload)


class Bedrock(CloudAnthropic):
    """`signers` are the accounts whose signatures count: the secret and the session token of an access key. `cut`, if set, makes
    other bytes of those of a stream."""

    versions = ("2026-10-21", "bedrock-2023-05-31")
    old = "bedrock-2023-05-31"
    rule = "bedrock"
    cut: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.signers: dict[str, tuple[str, str | None]] = {ACCESS_KEY: (SECRET_KEY, None)}
        self.signed_by: list[str] = []  # access keys, "" for a bearer

    def let_in(self, method: str, path: str, headers: Json, raw: bytes) -> None:
        given = headers.get("authorization", "")
        if given.startswith("Bearer "):
            if given != f"Bearer {KEY}":
                raise Broken("bedrock-signature", "Authentication failed: Please make sure your API Key is valid.", status=403)
            self.signed_by.append("")
            return
        scope = given.partition("Credential=")[2].partition(",")[0].split("/")
        secret, token = self.signers.get(scope[0], ("", None))
        if scope[2:] != [REGION, "bedrock", "aws4_request"] or headers.get("x-amz-security-token") != token:
            raise Broken("bedrock-signature", "The security token included in the request is invalid.", status=403)
        if given != signature_of(method, path, headers, raw, scope[0], secret):
            words = f"The request signature we calculated does not match, with {headers.get('x-amz-security-token')}."
            raise Broken("bedrock-signature", words, status=403)
        self.signed_by.append(scope[0])

    def answer_raw(self, path: str, headers: Json, raw: bytes) -> Answer:
        body = json.loads(raw)
        try:
            self.let_in("POST", path, {name.lower(): value for name, value in headers.items()}, raw)
            if not re.fullmatch("/model/[^/]+/invoke(-with-response-stream)?", path) or {"model", "stream"} & body.keys():
                raise Broken("bedrock-path", "Extra inputs are not permitted")
            self.check_version(body)
            if self.asks_for(path)[0] == "gone":
                raise Broken("bedrock-model", "The provided model identifier is invalid.")
        except Broken as broken:
            return self.denied(broken, path, body)
        return super().answer(self.base + self.path, headers, self.body_of(path, body))

    def asks_for(self, path: str) -> tuple[str, bool]:
        *_, model, verb = path.split("/")
        return unquote(model), verb != "invoke"

    def streamed(self, events: list[Json]) -> tuple[str, bytes]:
        data = b"".join(map(chunk, events))
        return "application/vnd.amazon.eventstream", data if self.cut is None else self.cut(data, events)

    def error(self, broken: Broken) -> Json:
        return {"message": broken.message} if broken.status == 400 else {"Message": broken.message}

    def listed(self, path: str, headers: Json) -> Answer:
        """ListFoundationModels and ListInferenceProfiles, https://docs.aws.amazon.com/bedrock/latest/APIReference/"""
        try:
            self.let_in("GET", path, headers, b"")
        except Broken as broken:
            return as_json(broken.status, self.error(broken))
        if path == "/foundation-models?byProvider=anthropic":
            rows = [("anthropic.m-1", ["ON_DEMAND"]), ("anthropic.m-2", ["INFERENCE_PROFILE"]), ("anthropic.m-3", None)]
            return as_json(200, {"modelSummaries": [{"modelId": id, "inferenceTypesSupported": types} for id, types in rows]})
        assert path == "/inference-profiles?maxResults=1000"
        ids = ("eu.anthropic.m-2", "eu.amazon.nova")
        return as_json(200, {"inferenceProfileSummaries": [{"inferenceProfileId": id} for id in ids]})


def signature_of(method: str, path: str, headers: Json, raw: bytes, access_key: str, secret: str) -> str:
    """The header Authorization that AWS expects of a request."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"host", "x-amz-date"} <= set(names)
    request = AWSRequest(method, f"http://{headers['host']}{path}", {name: headers[name] for name in names}, raw)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(access_key, secret), "bedrock", REGION)
    canonical = signer.canonical_request(request)
    signed = signer.signature(signer.string_to_sign(request, canonical), request)
    return f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={';'.join(names)}, Signature={signed}"


# ---------------------------------------------------------------- Vertex AI


class Vertex(CloudAnthropic):
    """`tokens` are the access tokens that count."""

    versions = ("2026-10-21", "vertex-2023-10-16")
    old = "vertex-2023-10-16"
    rule = "vertex"
    root = f"/v1/projects/{PROJECT}/locations/{REGION}/publishers/anthropic/models/"

    def __init__(self) -> None:
        super().__init__()
        self.tokens = [KEY]

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def let_in(self, headers: Json) -> None:
        if headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            raise Broken("vertex-token", "Request had invalid authentication credentials.", status=401)

    def answer(self, path: str, headers: Json, body: Json) -> Answer:
        try:
            self.let_in({name.lower(): value for name, value in headers.items()})
            is_whole = "model" not in body and self.asks_for(path)[1] == ("stream" in body)
            if not re.fullmatch(f"{self.root}[^/]+:(streamR|r)awPredict", path) or not is_whole:
                raise Broken("vertex-path", "Request contains an invalid argument.", status=404)
            self.check_version(body)
        except Broken as broken:
            return self.denied(broken, path, body)
        return super().answer(self.base + self.path, headers, self.body_of(path, body))

    def asks_for(self, path: str) -> tuple[str, bool]:
        model, _, verb = unquote(path).rpartition("/")[2].rpartition(":")
        return model, verb == "streamRawPredict"

    def error(self, broken: Broken) -> Json:
        if broken.status == 400:
            return super().error(broken)
        return {"error": {"code": broken.status, "message": broken.message, "status": "UNAUTHENTICATED"}}

    def listed(self, path: str, headers: Json) -> Answer:
        """publishers.models.list, https://googleapis.github.io/google-api-python-client/docs/dyn/aiplatform_v1beta1.publishers.models.html;
        here a page has one model."""
        try:
            self.let_in(headers)
        except Broken as broken:
            return as_json(broken.status, self.error(broken))
        assert path.partition("?")[0] == "/v1beta1/publishers/anthropic/models" and headers["x-goog-user-project"] == PROJECT
        last = "pageToken=next" in path
        body: Json = {"publisherModels": [{"name": f"publishers/anthropic/models/m-{1 if last else 2}"}]}
        return as_json(200, body if last else {**body, "nextPageToken": "next"})
