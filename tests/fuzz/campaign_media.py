"""Mutated pictures, sounds and documents, read from files and from bytes, through whole programs and the real SDKs.

Whatever they hold: a MediaError, an InvalidRequest that says `media`, or a request whose body the SDK's own types accept and that
has every byte of the file; never an exception of Python (O-1.200 to O-1.202, G-9.8).
"""

from __future__ import annotations

import asyncio
import json
import random
import struct
import tempfile
import zlib
from base64 import b64encode
from collections import Counter
from pathlib import Path
from typing import Any

import concerto
import httpx2
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_bytes
from concerto.vm.values import Err, Ok
from concerto.vm.values.media import KINDS, kind_of_mime, mime_of

from ..oracles import check_request
from .campaign import Campaign, Figures
from .mutation import INTERESTING, change_bytes
from .reply_mutation import REPLIES

SOURCE = """
use std::media;
connect chat { provider: "openai", api: "chat", retry: { max_attempts: 1 } }
connect responses { provider: "openai", api: "responses", retry: { max_attempts: 1 } }
connect anthropic { provider: "anthropic", retry: { max_attempts: 1 } }
connect google { provider: "google", retry: { max_attempts: 1 } }
model Chat { provider: chat, base: "m" }
model Responses { provider: responses, base: "m" }
model Anthropic { provider: anthropic, base: "m" }
model Google { provider: google, base: "m" }
model Offline { provider: offline }
memory copy {}
memory log { tools: true, media: { last: 2 }, retain: 6 }
pub fn model(name: String) -> ModelRef {
    match name { "chat" => Chat, "responses" => Responses, "anthropic" => Anthropic, "google" => Google, _ => Offline }
}
fn opened(kind: String, path: String) -> Result<media::Media, MediaError> {
    match kind { "image" => media::image(path), "audio" => media::audio(path), _ => media::document(path) }
}
pub fn from_file(m: ModelRef, kind: String, path: String) -> Result<Array<Any>, Error> { asked(m, opened(kind, path)?) }
pub fn from_bytes(m: ModelRef, kind: String, data: Bytes, name: String?) -> Result<Array<Any>, Error> {
    asked(m, media::bytes(kind, data, name)?)
}
fn asked(m: ModelRef, one: media::Media) -> Result<Array<Any>, Error> {
    let text = m.with_memory(log).execute(Prompt::new("q").with(one))?.text;
    copy.load(log.dump())?;
    let again = copy.messages();
    if again[again.len() - 2].media[0].hash != one.hash { throw "lost"; }
    Ok([text, "${one}", one.mime, one.bytes, log.tokens()])
}
pub fn reset() { log.clear(); }
"""
MODELS = ("chat", "responses", "anthropic", "google", "offline")
WIRES = {"google": "chat"}
NAMES = (None, "a.png", "", "ü\n\"x\"", "../" * 40, "x" * 500, "a\u202eb.pdf")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _png() -> bytes:
    head = struct.pack(">IIBBBBB", 40, 30, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes(40)) * 30)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"tEXt", b"a\0b") + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _jpeg() -> bytes:
    app = b"\xff\xe0\x00\x10JFIF\0\1\1\0\0\1\0\1\0\0"
    table = b"\xff\xdb\x00\x43\0" + bytes(range(64))
    frame = b"\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 30, 40) + b"\1\1\x11\0"
    return b"\xff\xd8" + app + table + frame + b"\xff\xda\x00\x08\1\1\0\0\x3f\0" + bytes(20) + b"\xff\xd9"


def _webp(form: bytes, body: bytes) -> bytes:
    chunk = form + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunk)) + b"WEBP" + chunk


FILES = (
    _png(), _jpeg(), b"GIF89a" + struct.pack("<HH", 40, 30) + b"\x80\0\0" + bytes(6) + b",\0\0\0\0\1\0\1\0\0\2\2D\1\0;",
    _webp(b"VP8 ", b"\x10\2\0\x9d\x01\x2a" + struct.pack("<HH", 40, 30) + bytes(20)),
    _webp(b"VP8L", b"\x2f" + struct.pack("<I", 39 | 29 << 14) + bytes(20)),
    _webp(b"VP8X", b"\x10\0\0\0" + (39).to_bytes(3, "little") + (29).to_bytes(3, "little")),
    b"RIFF" + struct.pack("<I", 44) + b"WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x08\0\0\0" + bytes(8),
    b"ID3\4\0\0\0\0\0\0\xff\xfb\x90\x64" + bytes(60), b"\xff\xfb\x90\x64" + bytes(60),
    b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n",
    "Grüße,\nder Beleg: 12,50 €\n".encode(),
)  # fmt: skip


def spoiled(chance: random.Random) -> bytes:
    """A file of one of the kinds with one to five changes: bytes, numbers of its header, its end, or another file in it."""
    data = bytearray(chance.choice(FILES))
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        kind = chance.randrange(5)
        if not data:
            break
        if kind < 2:
            change_bytes(data, chance)
        elif kind == 2:
            at, width = chance.randrange(len(data)), chance.choice((1, 2, 3, 4))
            number = chance.choice(INTERESTING) % 256**width
            data[at : at + width] = number.to_bytes(width, chance.choice(("little", "big")))
        elif kind == 3:
            del data[chance.randrange(len(data)) :]
        else:
            other = chance.choice(FILES)
            at = chance.randrange(len(data))
            data[at:at] = other[chance.randrange(len(other)) :]
    return bytes(data)


class Provider:
    """The HTTP of all wires: every request is valid, its answer good."""

    def __init__(self) -> None:
        self.wire = ""
        self.sent: list[str] = []

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        check_request(self.wire, body)
        self.sent.append(json.dumps(body, ensure_ascii=False))
        return httpx2.Response(200, json=REPLIES[self.wire][0])


def campaign(seed: int, cases: int) -> Figures:
    program = load_bytes(concerto.compile(SOURCE).to_bytes())
    codes = {name: program.codes[number] for name, number in program.image.exports.functions.items()}
    seen = Counter[str]()

    async def all_cases(folder: Path) -> None:
        provider = Provider()
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(provider.handle))
        keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), "sk-secret-1")
        host = Host(
            emit=lambda *given: None, print=print, env=keys, now=lambda: 0.0, sleep=lambda seconds: asyncio.sleep(0),
            random=lambda: 0.0, http_client=client, permissions=Permissions({"fs_read": (str(folder),)}), folder=folder,
        )  # fmt: skip
        session = Session(program, host)
        try:
            models = {name: (await session.invoke(codes["model"], [name])).value for name in MODELS}
            for case in range(cases):
                chance = random.Random(f"{seed}-{case}")
                data, model = spoiled(chance), chance.choice(MODELS)
                mime = mime_of(data)
                fits = "document" if mime is None else kind_of_mime(mime)
                kind = chance.choice((fits, fits, *KINDS))
                provider.wire, provider.sent = WIRES.get(model, model), []
                try:
                    if chance.random() < 0.5:
                        path = folder / "file.bin"
                        path.write_bytes(data)
                        outcome = await session.invoke(codes["from_file"], [models[model], kind, str(path)])
                    else:
                        name = chance.choice(NAMES)
                        given = [models[model], kind, data, name]
                        outcome = await session.invoke(codes["from_bytes"], given)
                    seen[_checked(outcome, data, model, provider.sent)] += 1
                    if chance.random() < 0.2:
                        await session.invoke(codes["reset"], [])
                except Exception as error:
                    said = f"seed {seed}, case {case}, {kind} to {model}: {error!r} with {data!r}"
                    raise AssertionError(said) from error
        finally:
            await session.aclose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(all_cases(Path(folder).resolve()))
    return dict(seen)


def _checked(outcome: Any, data: bytes, model: str, sent: list[str]) -> str:
    """What became of a file."""
    assert outcome.panic is None, outcome.panic
    if type(outcome.value) is Err:
        error = outcome.value.value
        assert not sent, sent
        assert error.family == "MediaError" or (error.variant == "InvalidRequest" and "media: " in error.message), error.message
        error.message.encode()
        return "refused" if error.family == "MediaError" else "not carried"
    assert type(outcome.value) is Ok
    text, shown, mime, size, tokens = outcome.value.value.items
    assert size == len(data) and 0 < tokens < 10**9 and shown.startswith("<") and text, (size, tokens, shown)
    if model == "offline":
        assert text.startswith("offline: ["), text
    else:
        whole = data.decode() if mime == "text/plain" else ""
        assert len(sent) == 1
        assert b64encode(data).decode() in sent[0] or json.dumps(whole, ensure_ascii=False)[1:-1] in sent[0], sent[0]
    return "sent"


CAMPAIGNS = [Campaign("mutated media", "O-1.200", 300, 10_000, campaign)]
