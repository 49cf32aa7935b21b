"""Media through the real SDKs to the servers that keep their providers' rules, and what no wire carries (O-1.202)."""

from __future__ import annotations

import struct

import concerto
import pytest

from ..oracles import check_request
from .mocks import Mock
from .test_programs import PROVIDERS

PROGRAM = concerto.compile("""
    use std::media;
    connect lab { provider: "custom", base_url: "http://127.0.0.1:9/v1" }
    schema N { n: Int }
    model M { provider: lab, base: "m-1" }
    pub fn look(kind: String, data: Bytes, name: String?) -> Result<String, Error> {
        Ok(M.execute(Prompt::new("what is it?").with(media::bytes(kind, data, name)?))?.text)
    }
    pub fn told(data: Bytes) -> Result<String, Error> {
        let mut told = "";
        for chunk in M.stream(Prompt::new("what is it?").with(media::bytes("image", data)?))? { told += chunk.text; }
        Ok(told)
    }
    pub fn number(data: Bytes) -> Result<Int, Error> {
        Ok(M.execute_with_schema<N>(Prompt::new("badly").with(media::bytes("image", data)?))?.n)
    }
    pub fn linked(kind: String, url: String) -> Result<String, Error> {
        Ok(M.execute(Prompt::new("what is it?").with(media::link(kind, url)?))?.text)
    }
""")


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


FILES = [
    ("image", png(3, 2)), ("image", b"\xff\xd8\xff\xe0"), ("image", b"GIF89a"), ("image", b"RIFF\0\0\0\0WEBP"),
    ("audio", b"RIFF\0\0\0\0WAVE"), ("audio", b"ID3" + b"\0" * 9), ("document", b"%PDF-1.7"), ("document", "grüße".encode()),
]  # fmt: skip
CARRIES_AUDIO = ("chat",)


class Bench:
    def __init__(self, name: str) -> None:
        kind, self.wire, fields = PROVIDERS[name]
        self.mock: Mock = kind()
        self.name = name
        self.fields = {"api_key": "key-of-the-tests", **fields}

    def __enter__(self) -> Bench:
        self.mock.__enter__()
        self.session = PROGRAM.session(connections={"lab": {**self.fields, "base_url": self.mock.url}})
        self.session.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self.session.__exit__(*given)
        self.mock.__exit__(*given)
        for body in self.mock.seen:
            check_request(self.wire, body)

    @property
    def broken(self) -> list[str]:
        return [name for name in self.mock.broken if name not in ("responses-include", "chat-effort")]


@pytest.fixture(params=PROVIDERS)
def bench(request):
    with Bench(request.param) as made:
        yield made


@pytest.mark.parametrize("name", ["a file.bin", None])
@pytest.mark.parametrize(("kind", "data"), FILES)
def test_each_kind_is_sent_or_refused_by_name(bench, kind, data, name):
    if kind == "audio" and bench.wire not in CARRIES_AUDIO:
        with pytest.raises(concerto.ProgramError) as failure:
            bench.session.call("look", kind, data, name)
        assert failure.value.error.variant == "InvalidRequest" and ": media: audio (audio/" in str(failure.value)
        assert not bench.mock.seen
    else:
        assert bench.session.call("look", kind, data, name) == "echo what is it?"
    assert bench.broken == []


def test_streams_and_every_attempt_carry_them(bench):
    assert bench.session.call("told", png(1, 1)) == "echo what is it?"
    assert bench.session.call("number", png(1, 1)) == 7
    asked = [str(body) for body in bench.mock.seen]
    assert len(asked) - len(bench.mock.broken) == 3 and all("iVBORw0KGgo" in body for body in asked)
    assert bench.broken == []


def test_links_go_where_the_provider_fetches_them(bench):
    if bench.name in ("bedrock", "vertex"):
        with pytest.raises(concerto.ProgramError, match="media: image by link is not carried by Claude at "):
            bench.session.call("linked", "image", "https://a.example/p.png")
        assert bench.mock.seen == []
        return
    assert bench.session.call("linked", "image", "https://a.example/p.png") == "echo what is it?"
    document = "linked", "document", "https://a.example/p.pdf"
    if bench.wire == "chat":
        with pytest.raises(concerto.ProgramError, match="media: document by link is not carried by chat completions"):
            bench.session.call(*document)
    else:
        assert bench.session.call(*document) == "echo what is it?"
    with pytest.raises(concerto.ProgramError, match="media: audio by link is not carried"):
        bench.session.call("linked", "audio", "https://a.example/p.wav")


def test_what_only_the_provider_knows_is_its_error():
    with Bench("anthropic") as bench:
        with pytest.raises(concerto.ProgramError, match="exceed max allowed size: 8000 pixels") as failure:
            bench.session.call("look", "image", png(8001, 1), None)
        assert failure.value.error.variant == "InvalidRequest" and bench.broken == ["anthropic-size"]
