"""A secret in every place of a connection that takes one reaches no sink, though the server sends it back (G-10.1, G-10.3)."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading

import pytest
from concerto.compiler.fields import CONNECTION_FIELDS

SECRET = "sk-planted-0123456789"
NAME = "PLANTED_VARIABLE"
PROJECT = '[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n[connections.lab]\n'
# Per place: fields of `connect`, lines of `[connections.lab]`.
PLACES = {
    "api_key": (f'api_key: env("{NAME}")', ""),
    "api_key_env": (f'api_key_env: "{NAME}"', ""),
    "headers": (f'headers: {{ "X-Auth": env("{NAME}") }}', ""),
    "api_key_env of the manifest": ("", f'api_key_env = "{NAME}"\n'),
    "headers of the manifest": ("", f'headers = {{ X-Auth = {{ env = "{NAME}" }} }}\n'),
}
# Fields in which no variable may stand: what they hold is in the source.
PLAIN = {
    "provider", "base_url", "default_model", "models", "timeout", "organization", "project", "api", "unsupported", "structured",
    "replies", "retry", "rate_limit", "breaker", "media_bytes", "media_tokens", "extra",
    "cache_prompt", "region", "api_version", "profile", "auth",
}  # fmt: skip
SOURCE = """
connect lab {{ provider: "custom", base_url: "{url}", retry: {{ max_attempts: 1 }}, {fields} }}
memory log: Memory = Memory::new();
schema Reply {{ text: String }}
@log
model M {{ provider: lab, base: "m", memory: log }}
fn main() -> Result<Nil, Error> {{
    let text = M.execute("echo")?.text;
    emit("text", text);
    emit("deep", {{ "list": [text, (text, Some(text))] }});
    print(text);
    std::log::warn(text);
    emit("memory", log.messages());
    emit("dump", log.dump());
    for prompt in ["fail", "garbage"] {{ emit("error", M.execute(prompt)); }}
    emit("schema", M.execute_with_schema<Reply>("echo"));
    {end}
}}
"""
ENDS = {"error": "throw text", "panic": "panic(text)", "tool error": 'Err(ToolError::ExecutionFailed("x ${text}"))'}


@contextlib.contextmanager
def echo_server():
    """Sends back what it was sent in the headers: as a reply, as an error, and as something that is neither."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            request = self.rfile.read(int(self.headers["Content-Length"])).decode()
            echoed = f"{self.headers['Authorization']} {self.headers['X-Auth']}"
            seen.append(echoed)
            status, body = 200, json.dumps({"choices": [{"message": {"content": echoed}, "finish_reason": "stop"}], "model": "m"})
            if "fail" in request.split('"messages"')[1].split('"role"')[-1]:
                status, body = 400, json.dumps({"error": {"message": f"bad key {echoed}", "code": echoed}})
            elif "garbage" in request.split('"messages"')[1].split('"role"')[-1]:
                body = f"<html>{echoed}"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Request-Id", echoed)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
        server.shutdown()


def test_every_field_is_a_place_or_holds_no_secret():
    assert {place.split()[0] for place in PLACES} | PLAIN == set(CONNECTION_FIELDS)


@pytest.mark.parametrize("field", sorted(PLAIN - {"retry", "rate_limit", "breaker"}))
def test_other_fields_take_no_variable(cli, write, field):
    """The error stands at the value, whatever else is wrong with the field."""
    fields = {"provider": '"custom"', "base_url": '"http://x/v1"', field: f'env("{NAME}")'}
    lines = "".join(f"{name}: {value},\n" for name, value in fields.items())
    write("main.conc", f"connect lab {{\n{lines}}}\nfn main() {{ }}\n")
    code, _, err = cli("check", "main.conc")
    assert code == 65
    assert f"main.conc:{2 + list(fields).index(field)}:{len(field) + 3}: error[E4004]: " in err


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("place", PLACES)
def test_it_is_found_nowhere(cli, write, tmp_path, monkeypatch, place, end):
    monkeypatch.setenv(NAME, SECRET)
    fields, lines = PLACES[place]
    with echo_server() as (url, seen):
        if lines:
            write("Concerto.toml", PROJECT + lines)
        write("main.conc", SOURCE.format(url=url, fields=fields, end=ENDS[end]))
        shown = []
        for form in ("text", "json"):
            code, out, err = cli("run", "--debug", "--verbose", "--metrics", "--emit-format", form, "main.conc")
            assert code == 1 and f"<secret {NAME}>" in out and ("[emit:schema]" in out or form == "json"), err
            shown += [out, err]
        assert cli("compile", "main.conc").code == 0
        shown += [cli(verb, "main.concb").out for verb in ("inspect", "disasm")]
        assert any(SECRET in echoed for echoed in seen)  # it was sent, and came back
    assert not [text for text in shown if SECRET in text or SECRET[3:] in text]
    assert SECRET.encode() not in (tmp_path / "main.concb").read_bytes()
    assert not [path.name for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
