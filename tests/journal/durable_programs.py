"""Programs that survive kills, and a server of a model that counts what it is asked: for `campaign_durable.py` and the tests
here."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEAD = """
connect lab {{ provider: "custom", base_url: "http://127.0.0.1:{port}/v1" }}
model M {{ provider: lab, base: "small" }}
"""

PIPELINE = HEAD + """
pipeline Report {{
    stage draft(topic: String) -> String {{ M.execute("draft " + topic)?.text }}
    stage check(text: String) -> String {{ M.execute("check " + text)?.text }}
    stage polish(text: String) -> String {{ M.execute("polish " + text)?.text }}
}}
fn main() {{
    for i in 0..4 {{ let text = Report.run("t" + i.to_string())?; emit("report", text); }}
}}
"""

AGENT = HEAD + """
tool Shelf {{
    description: "A shelf"
    notes: Array<String> = []
    /// puts a thing on it
    pub fn put(
        mut self,
        /// the thing
        thing: String,
    ) -> String {{
        let done = std::fs::append_file("shelf.txt", thing + "\\n");
        self.notes.push(thing);
        if done.is_err() {{ return "unknown: " + thing; }}
        "has ${{self.notes.len()}}"
    }}
}}
model Clerk {{ provider: lab, base: "small", tools: [Shelf] }}
fn main() {{
    for i in 0..4 {{ let r = Clerk.execute("use Shelf__put item" + i.to_string())?; emit("clerk", r.text); }}
}}
"""

PARALLEL = HEAD + """
fn ask(what: String) -> String {{ match M.execute(what) {{ Ok(r) => r.text, Err(e) => e.message }} }}
fn main() {{
    for round in 0..3 {{
        let all = await (ask("a${{round}}"), ask("b${{round}}"), ask("c${{round}}"));
        emit("all", all.0 + all.1 + all.2);
        let first = await race(ask("fast${{round}}"), ask("slow${{round}}"));
        emit("first", first);
    }}
}}
"""

CONVERSATION = HEAD + """
memory chat: Memory = Memory::new().window(6).summary(M, every: 4);
fn main() {{
    for i in 0..6 {{
        let r = M.with(memory: chat).execute("turn ${{i}}")?;
        emit("turn", r.text);
        chat.remember("fact${{i}}", "value ${{i}}");
    }}
    emit("len", chat.len());
    emit("facts", chat.recall("fact").len());
}}
"""

APPROVAL = HEAD + """
channel approve: String -> Bool;
fn main() {{
    for i in 0..3 {{
        let r = M.execute("plan ${{i}}")?;
        let yes = approve(r.text)?;
        if yes {{ emit("done", M.execute("do ${{i}}")?.text); }} else {{ emit("left", i); }}
    }}
}}
"""

PROGRAMS = {"pipeline": PIPELINE, "agent": AGENT, "parallel": PARALLEL, "conversation": CONVERSATION, "approval": APPROVAL}


class ModelServer:
    """A server of the chat API: its reply says the last user message again; a message `use T ARG` calls the tool T once. `seen`
    has the prompts in the order in which they came; `delay` is how long a reply takes, in seconds."""

    def __init__(self, delay: float = 0.005) -> None:
        self.seen: list[str] = []
        self.delay = delay
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # headers and body in one packet: the second would wait for the acknowledgement of the first

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(server.answer(body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                self.wfile.flush()

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *arguments: Any) -> None:
                """A client that was killed is no fault."""

        self.httpd = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.httpd.server_address[1]
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request."""
        messages = body["messages"]
        prompt = next(message["content"] for message in reversed(messages) if message["role"] == "user")
        prompt = prompt if isinstance(prompt, str) else prompt[-1]["text"]
        last = messages[-1]
        said = f"{prompt} / {last['content']}" if last["role"] == "tool" else prompt
        self.seen.append(said)
        time.sleep(self.delay * (100 if prompt.startswith("slow") else 1))
        message: dict[str, Any] = {"role": "assistant", "content": f"[{said[:60]}]"}
        finish = "stop"
        if prompt.startswith("use ") and last["role"] == "user":
            _, tool, thing = prompt.split()
            call = {"name": tool, "arguments": json.dumps({"thing": thing})}
            message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
            finish = "tool_calls"
        return {
            "id": "x", "object": "chat.completion", "created": 1, "model": "small",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        }  # fmt: skip

    def close(self) -> None:
        self.httpd.shutdown()
        self.httpd.server_close()
