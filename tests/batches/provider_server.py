"""The batches of OpenAI and Anthropic on a local server, in the forms of their public documentation, read on 2026-11-27:
https://platform.openai.com/docs/api-reference/batch, https://platform.openai.com/docs/guides/batch and
https://platform.claude.com/docs/en/build-with-claude/batch-processing. Bodies are checked by the SDKs' own parameter types.

A prompt with `fail` is an error, one with `gone` expires, `half` is answered by half a
character; `hold` keeps batches unfinished."""

from __future__ import annotations

import json
import threading
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import TypeAdapter

from ..oracles import check_request

Json = dict[str, Any]
NO_ACCESS = "https://somewhere.example/results"  # nobody may take the key there


class ProviderServer:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Json] = {}
        self.requests: dict[str, list[Json]] = {}
        self.asked: list[str] = []
        self.hold = False
        self.lose_answer = False  # the connection breaks behind a batch that was made
        self.lose_id = False  # the answer about a batch that was made does not say which
        self.says: bytes | None = None  # what it says about each batch, in place of how it is
        self.broken: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                try:
                    outer.post(self, data)
                except Exception as error:  # the test reads it
                    outer.broken.append(repr(error))
                    outer.answer(self, {"error": {"message": repr(error)}}, 500)

            def do_GET(self) -> None:
                outer.get(self)

            def log_message(self, *given: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self) -> ProviderServer:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *given: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        assert self.broken == []

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def answer(self, to: Any, data: Json | bytes, status: int = 200) -> None:
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        to.send_response(status)
        to.send_header("content-type", "application/json")
        to.send_header("content-length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    def post(self, to: Any, data: bytes) -> None:
        if to.path == "/v1/files":
            self._file(to, data)
        elif to.path == "/v1/batches":
            self._openai(to, json.loads(data))
        elif to.path == "/v1/messages/batches":
            self._anthropic(to, json.loads(data))
        else:  # a single request, of --only-failed
            self.answer(to, openai_reply(to.path, json.loads(data), self.asked))

    def _file(self, to: Any, data: bytes) -> None:
        head = f"content-type: {to.headers['content-type']}\r\n\r\n".encode()
        parts = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
                 for part in BytesParser(policy=HTTP).parsebytes(head + data).iter_parts()}  # fmt: skip
        assert parts["purpose"] == b"batch"
        id = f"file-{len(self.files)}"
        self.files[id] = parts["file"]
        self.answer(to, {"id": id, "object": "file", "bytes": len(parts["file"]), "created_at": 1, "filename": "b.jsonl",
                         "purpose": "batch"})  # fmt: skip

    def _openai(self, to: Any, body: Json) -> None:
        from openai.types.batch_create_params import BatchCreateParams

        TypeAdapter(BatchCreateParams).validate_python(body)
        assert body["completion_window"] == "24h"
        rows = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        wire = "chat" if body["endpoint"] == "/v1/chat/completions" else "responses"
        for row in rows:
            assert set(row) == {"custom_id", "method", "url", "body"} and row["method"] == "POST"
            assert row["url"] == body["endpoint"]
            check_request(wire, row["body"])
        assert len({row["custom_id"] for row in rows}) == len(rows)
        id = f"batch_{len(self.batches)}"
        self.requests[id] = rows
        self.batches[id] = {
            "id": id, "object": "batch", "endpoint": body["endpoint"], "input_file_id": body["input_file_id"],
            "completion_window": "24h", "status": "validating", "created_at": 4_000_000_000, "metadata": body.get("metadata"),
        }  # fmt: skip
        self._made(to, id)

    def _made(self, to: Any, id: str) -> None:
        if self.lose_answer:
            self.lose_answer = False
            to.connection.close()
            to.close_connection = True
        elif self.lose_id:
            self.lose_id = False
            self.answer(to, {"object": "batch"})
        else:
            self.answer(to, self.batches[id])

    def _anthropic(self, to: Any, body: Json) -> None:
        from anthropic.types.messages.batch_create_params import BatchCreateParams

        assert to.headers["x-api-key"] or to.headers["authorization"]
        TypeAdapter(BatchCreateParams).validate_python(body)
        for row in body["requests"]:
            assert set(row) == {"custom_id", "params"} and len(row["custom_id"]) <= 64
            check_request("anthropic", row["params"])
        id = f"msgbatch_{len(self.batches)}"
        self.requests[id] = body["requests"]
        counts = {"processing": len(body["requests"]), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        self.batches[id] = {
            "id": id, "type": "message_batch", "processing_status": "in_progress", "request_counts": counts,
            "created_at": "2096-01-01T00:00:00Z", "expires_at": "2096-01-02T00:00:00Z", "ended_at": None, "archived_at": None,
            "cancel_initiated_at": None, "results_url": None,
        }  # fmt: skip
        self._made(to, id)

    def get(self, to: Any) -> None:
        path, _, _ = to.path.partition("?")
        name = path.rsplit("/", 1)[1]
        if path in ("/v1/batches", "/v1/messages/batches"):
            self.answer(to, {"object": "list", "data": list(self.batches.values())[::-1], "has_more": False})
        elif path.endswith("/content"):
            self.answer(to, self.files[path.split("/")[3]])
        elif path.endswith("/results"):
            id = path.split("/")[4]
            self.answer(to, b"".join(json.dumps(self._result(row)).encode() + b"\n" for row in self.requests[id][::-1]))
        elif path.startswith("/v1/batches/"):
            if self.says is not None:
                self.answer(to, self.says)
                return
            if not self.hold and self.batches[name]["status"] == "validating":
                self._finish(name)
            self.answer(to, self.batches[name])
        else:
            if not self.hold:
                self.batches[name].update(processing_status="ended", results_url=NO_ACCESS, ended_at="2096-01-01T01:00:00Z")
            self.answer(to, self.batches[name])

    def _finish(self, id: str) -> None:
        good, bad = [], []
        for row in self.requests[id]:
            prompt = prompt_of(row["body"])
            if "gone" in prompt:
                bad.append(
                    {
                        "id": "r",
                        "custom_id": row["custom_id"],
                        "response": None,
                        "error": {"code": "batch_expired", "message": "This request could not be executed in time."},
                    }
                )
            elif "fail" in prompt:
                body = {"error": {"message": "it does not want to", "type": "invalid_request_error"}}
                bad.append(
                    {
                        "id": "r",
                        "custom_id": row["custom_id"],
                        "error": None,
                        "response": {"status_code": 400, "request_id": "q", "body": body},
                    }
                )
            else:
                body = openai_reply(row["url"], row["body"], self.asked)
                good.append(
                    {
                        "id": "r",
                        "custom_id": row["custom_id"],
                        "error": None,
                        "response": {"status_code": 200, "request_id": "q", "body": body},
                    }
                )
        for kind, rows in (("output_file_id", good), ("error_file_id", bad)):
            if rows:
                self.files[f"{id}-{kind}"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows[::-1])
                self.batches[id][kind] = f"{id}-{kind}"
        self.batches[id].update(
            status="expired" if any("gone" in prompt_of(r["body"]) for r in self.requests[id]) else "completed"
        )

    def _result(self, row: Json) -> Json:
        prompt = prompt_of(row["params"])
        if "gone" in prompt:
            result: Json = {"type": "expired"}
        elif "fail" in prompt:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "it does not want to"}}
            result = {"type": "errored", "error": error}
        else:
            self.asked.append(prompt)
            usage = {"input_tokens": 1000, "output_tokens": 500}
            message = {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": row["params"]["model"],
                "content": [{"type": "text", "text": f"re: {half(prompt)}"}],
                "stop_reason": "end_turn",
                "usage": usage,
            }
            result = {"type": "succeeded", "message": message}
        return {"custom_id": row["custom_id"], "result": result}


def prompt_of(body: Json) -> str:
    messages = body.get("messages") or body.get("input")
    content = messages if isinstance(messages, str) else messages[-1]["content"]  # type: ignore[index]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def half(prompt: str) -> str:
    return prompt.replace("half", "\ud800")


def openai_reply(url: str, body: Json, asked: list[str]) -> Json:
    prompt = prompt_of(body)
    asked.append(prompt)
    if url.endswith("/responses"):
        content = [{"type": "output_text", "text": f"re: {half(prompt)}", "annotations": []}]
        item = {"id": "i", "type": "message", "role": "assistant", "status": "completed", "content": content}
        usage = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500}
        return {"id": "r", "object": "response", "status": "completed", "model": body["model"], "output": [item], "usage": usage}
    usage = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    choice = {"index": 0, "message": {"role": "assistant", "content": f"re: {half(prompt)}"}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": usage}
