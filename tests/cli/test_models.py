"""`concerto models`: the lists of endpoints of both kinds, and the way out of each failure (O-1.233)."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from ..providers.mocks import KEY, Anthropic, OpenAIChat
from ..servers.aimock import free_port

KINDS = {"openai": OpenAIChat, "anthropic": Anthropic}


@pytest.fixture(params=KINDS)
def server(request):
    """The name of a provider and a server of its kind."""
    with KINDS[request.param]() as mock:
        yield request.param, mock


@pytest.fixture
def ask(cli, write, monkeypatch):
    """Ask a connection `lab` of a project with these fields, with the key in LAB_KEY."""

    def run(*words, key=KEY, **fields):
        monkeypatch.setenv("LAB_KEY", key)
        lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items())
        write("Concerto.toml", f"[connections.lab]\n{lines}\n")
        return cli("models", "lab", *words)

    return run


def fields(server, **more):
    provider, mock = server
    return {"provider": provider, "base_url": mock.url, "api_key_env": "LAB_KEY", **more}


def test_ids_on_stdout_what_was_asked_beside(server, ask):
    """Anthropic's list comes in pages."""
    code, out, err = ask(**fields(server))
    assert (code, out) == (0, "m-1\nm-2\n")
    assert err == f"lab: 2 models at {server[1].url}, asked with the key in LAB_KEY\n"
    assert ask("-q", **fields(server)) == (0, "m-1\nm-2\n", "")


def test_as_json(server, ask):
    code, out, err = ask("--json", **fields(server))
    about = {"provider": server[0], "base_url": server[1].url}
    assert (code, json.loads(out), err) == (0, {"lab": {**about, "models": ["m-2", "m-1"]}}, "")
    code, out, err = ask("--json", key="wrong", **fields(server))
    found = json.loads(out)["lab"]
    assert (code, err, found["error"]["variant"]) == (1, "", "AuthenticationFailed") and "LAB_KEY" in found["help"]


def test_a_key_that_is_refused(server, ask):
    code, out, err = ask(key="sk-wrong-and-secret", **fields(server))
    assert (code, out) == (1, "")
    assert err.startswith("error: lab: ") and "does not take the key: is LAB_KEY the key of this provider" in err
    assert "secret" not in err


def test_a_key_that_is_not_there(server, ask):
    code, out, err = ask(key="", **fields(server))
    assert (code, out) == (1, "")
    assert "environment variable LAB_KEY is not set" in err and "help: set it: `export LAB_KEY=…`" in err


def test_a_key_from_a_file(server, ask, write, monkeypatch):
    write("keys", f"OTHER_KEY={KEY}\n")
    assert ask("--env-file", "keys", key="", **fields(server, api_key_env="OTHER_KEY"))[0] == 0


def test_a_custom_endpoint_that_wants_a_key(ask):
    with OpenAIChat() as mock:
        code, _, err = ask(provider="custom", base_url=mock.url)
    assert code == 1 and 'the connection names none: `api_key: env("LAB_KEY")`' in err


def test_nobody_listens(ask):
    port = free_port()
    code, _, err = ask(provider="custom", base_url=f"http://127.0.0.1:{port}/v1")
    assert code == 1 and f"connection failed to 127.0.0.1:{port}" in err
    assert f"does a server run there, and is base_url right? It is http://127.0.0.1:{port}/v1" in err
    code, _, err = ask(provider="ollama", base_url=f"http://127.0.0.1:{port}/v1")
    assert code == 1 and "is it running? `ollama serve` starts it" in err


def test_a_path_that_is_wrong(ask):
    with OpenAIChat() as mock:
        code, _, err = ask(provider="custom", base_url=mock.url.removesuffix("/v1"), api_key_env="LAB_KEY")
    assert code == 1 and "there is no list of models at" in err and "its base_url mostly ends in /v1" in err
    with Anthropic() as mock:
        code, _, err = ask(provider="anthropic", base_url=f"{mock.url}/v1", api_key_env="LAB_KEY")
    assert code == 1 and "the base_url of this API has no path" in err


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (429, "key and address are right"),
        (500, "the provider itself fails"),
        (403, "takes the key, but not for this"),
        (400, "the endpoint refuses to be asked"),
        (302, "make it the base_url of connection lab"),
        ("reset", "does a server run there"),
        ("hang", "the address answers too slowly or not at all"),
    ],
)
def test_every_other_fault_has_a_way_out(server, ask, fault, told):
    server[1].faults = [fault]
    code, out, err = ask(**fields(server, timeout=0.3))
    assert (code, out) == (1, "") and told in err, err


class Page(BaseHTTPRequestHandler):
    """A server that is no API: `content` whatever it is asked."""

    content = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *given):
        pass


@pytest.fixture
def page():
    server = HTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("content", [b"<html>Welcome</html>", b"", b"{}", b'{"data": [{"name": "m"}]}', b"[1]", b'"x"', b"{"])
def test_what_is_no_list(ask, page, content):
    Page.content = content
    code, out, err = ask(provider="custom", base_url=page)
    assert (code, out) == (1, "") and "is no API of models: is base_url the address of an API of this kind?" in err, err


def test_a_list_without_an_object_around_it_and_ids_that_would_write_to_the_terminal(ask, page):
    Page.content = json.dumps([{"id": "b\x1b[2J"}, {"id": "a"}]).encode()
    code, out, err = ask(provider="custom", base_url=page)
    assert (code, out) == (0, "a\nb\\u{1b}[2J\n") and err.endswith("asked without a key\n")


def test_a_key_that_is_sent_back_is_not_shown(ask, page):
    for body in ({"data": [{"id": f"m-{KEY}"}]}, {"oops": KEY}):
        Page.content = json.dumps(body).encode()
        code, out, err = ask(provider="custom", base_url=page, api_key_env="LAB_KEY")
        assert KEY not in out + err and (code == 0) is ("data" in body)


SOURCE = """
connect far {{ provider: "openai", base_url: "{url}", api_key: env("LAB_KEY"), models: {{ fast: "m-1" }} }}
model A {{ provider: far, base: "fast" }}
model B {{ provider: far, base: "mm-2" }}
model C {{ provider: offline }}
fn main() {{}}
"""
MANIFEST = """
[project]
name = "app"
version = "1.0.0"
entry = "main.conc"
[connections.other]
provider = "ollama"
"""


def test_the_connections_of_a_program(cli, write, monkeypatch):
    """Without a name those that its models use; an id that is not offered is noted."""
    monkeypatch.setenv("LAB_KEY", KEY)
    with OpenAIChat() as mock:
        source = SOURCE.format(url=mock.url)
        write("main.conc", source)
        code, out, err = cli("models", "--program", "main.conc")
        assert (code, out) == (0, "far:\n  m-1\n  m-2\noffline:\n  offline-1\n")
        assert "note: model B asks for mm-2, which is not in the list; did you mean m-2?" in err and "model A" not in err
        write("Concerto.toml", MANIFEST)
        assert cli("models") == (code, out, err)
        write("main.conc", source + "fn broken( {}")
        code, _, err = cli("models", "far")
        assert code == 2 and "main.conc does not compile (`concerto check` says why)" in err
        assert "connections are: other, openai" in err
        assert cli("models", "--program", "main.conc")[0] == 65


def test_what_is_asked_without_a_program(cli, monkeypatch):
    code, out, err = cli("models")
    assert (code, out) == (2, "") and "name a connection: `concerto models openai`" in err and "ANTHROPIC_API_KEY" in err
    monkeypatch.setenv("OPENAI_API_KEY", "quoted\u201dkey")
    code, out, err = cli("models")
    assert (code, out) == (1, "") and "copy the key into OPENAI_API_KEY again" in err
    assert cli("models", "offline") == (0, "offline-1\n", "offline: built in, without an endpoint\n")


def test_names_and_fields_that_are_wrong(cli, ask):
    code, _, err = cli("models", "opanai")
    assert code == 2 and err.startswith("there is no connection opanai; did you mean openai?\nconnections are: openai, ")
    code, _, err = ask(provider="custom")
    assert code == 2 and "base_url is missing" in err
    assert cli("models", "--program", "gone.conc")[0] == 66
