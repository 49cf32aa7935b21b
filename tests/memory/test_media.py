"""A memory keeps media once by hash beside its entries, and loses them with the last that uses them (O-1.203, M-4.35, M-8.19)."""

from __future__ import annotations

import gc
import json
import struct

import pytest
from concerto.runtime.connections import resolve
from concerto.runtime.media import MediaPart, tokens_of
from concerto.runtime.memory.entries import count_message
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.keys import encode
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.redaction import pii
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.memory.turns import Attached, open_run
from concerto.runtime.records import Call, Msg
from concerto.vm.values.media import content_of, link_to

MARKER = b"MARKER-OF-A-PHOTO"


def photo(more: bytes = b"", name: str = "p.gif") -> MediaPart:
    return MediaPart(content_of("image", b"GIF89a" + MARKER + more), name, 100)


def turn(memory: Memory, run: str, *media: MediaPart, text: str = "look") -> None:
    made = open_run([Attached(memory)], run, [Msg("user", text, media=media)])
    made.commit("a")


def media_of(messages: list[Msg]) -> list[list[bytes | None]]:
    return [[part.content.data for part in message.media] for message in messages]


def blobs(store, key) -> int:
    """How many contents the store holds for a key."""
    if store.name == "volatile":
        held = {part.content.hash for entry in store.entries(key) for part in entry.message.media}
        return len(held)
    if hasattr(store, "_server"):
        names = store._of(key)
        assert store._server.hlen(names["blobs"]) == store._server.hlen(names["uses"])
        return store._server.hlen(names["blobs"])
    return store._rows("SELECT count(*) FROM blob WHERE key = ?", (encode(key),))[0][0]


@pytest.fixture
def memory(store):
    return lambda **steps: Memory(Policy(**steps), name="chat", store=store)


def test_one_photo_of_forty_turns_is_kept_once(memory):
    log = memory()
    for number in range(40):
        turn(log, f"r{number}", photo())
    assert blobs(log.store, log.key) == 1
    assert media_of(log.messages())[0] == [b"GIF89a" + MARKER] and len(log.messages()) == 80
    data = {id(part.content) for message in log.messages() for part in message.media}
    assert len(data) == 1  # in this process too
    assert log.tokens() == sum(entry.tokens for entry in log.entries()) and log.entries()[0].tokens == 105


@pytest.mark.parametrize("how", ["retain", "erase", "rewind", "clear", "load"])
def test_a_content_leaves_with_the_last_entry_that_uses_it(memory, how):
    log = memory(retain=4) if how == "retain" else memory()
    turn(log, "a", photo(), photo(b"2"))
    turn(log, "b", photo())
    assert blobs(log.store, log.key) == 2
    empty = memory().dump() if how == "load" else ""
    if how == "retain":
        turn(log, "c")
    elif how == "erase":
        log.erase([0])
    elif how == "rewind":
        turn(log, "c", photo(b"3"))
        assert blobs(log.store, log.key) == 3
        log.rewind(1)
        log.erase([0])
    if how in ("retain", "erase", "rewind"):
        assert blobs(log.store, log.key) == 1
        left = [message for message in log.messages() if message.media]
        assert media_of(left) == [[b"GIF89a" + MARKER]]
    if how == "load":
        other = json.loads(empty)
        log.load(json.dumps({**other, "log": [], "runs": [], "next": 0, "turns": 0}))
    else:
        log.clear()
    assert blobs(log.store, log.key) == 0


def test_another_key_and_a_branch_have_their_own(memory):
    log = memory()
    turn(log, "a", photo())
    side = log.fork("side")
    other = log.with_key((*log.key[:-1], "x", ""))
    turn(other, "b", photo())
    assert [blobs(log.store, each.key) for each in (log, side, other)] == [1, 1, 1]
    log.clear()
    gc.collect()
    assert [blobs(log.store, each.key) for each in (log, side, other)] == [0, 1, 1]
    assert media_of(side.messages())[0] == media_of(other.messages())[0] == [b"GIF89a" + MARKER]
    other.erase()
    side.erase(run="a")
    assert [blobs(log.store, each.key) for each in (side, other)] == [0, 0]


def test_dumps_carry_them(memory, tmp_path):
    log = memory()
    turn(log, "a", photo(), MediaPart(link_to("image", "https://a.example/p.png"), "https://a.example/p.png", 9))
    turn(log, "b", photo())
    text = log.dump()
    assert text.count("media\":{") == 1 and len(json.loads(text)["media"]) == 1
    taken = Memory(Policy(), name="chat", store=SqliteStore(str(tmp_path / "other.db")))
    taken.load(text)
    assert taken.dump() == text and media_of(taken.messages()) == media_of(log.messages())
    assert json.loads(memory().dump()).keys() - {"media"} == json.loads(text).keys() - {"media"}
    taken.store.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda dump: dump.pop("media"), "is gone"),
        (lambda dump: dump["media"].update(dict.fromkeys(dump["media"], "R0lGODlh")), "not what its hash says"),
        (lambda dump: dump["media"].update(dict.fromkeys(dump["media"], "###")), "does not decode"),
        (lambda dump: dump["media"].update(dict.fromkeys(dump["media"], 1)), "does not decode"),
        (lambda dump: dump.update(media=[]), "does not decode"),
        (lambda dump: _part(dump).update(text="{}"), "does not decode"),
        (lambda dump: _part(dump).update(text=_part(dump)["text"].replace("image", "film")), "does not decode"),
        (lambda dump: _part(dump).update(text=_part(dump)["text"].replace('100', '-1')), "does not decode"),
    ],
)
def test_damaged_dumps_load_nothing(memory, change, said):
    log = memory()
    turn(log, "a", photo(b"of a dump"))
    dump = json.loads(log.dump())
    log.clear()
    change(dump)
    gc.collect()  # what this process holds is not looked for in a dump
    with pytest.raises(MemoryFailure, match=said) as raised:
        log.load(json.dumps(dump))
    assert raised.value.variant == "Corrupt" and log.messages() == []


def _part(dump):
    return dump["log"][0]["parts"][0]


def test_a_content_of_a_later_version_is_refused_by_name(memory):
    log = memory()
    turn(log, "a", photo(b"later"))
    dump = json.loads(log.dump())
    log.clear()
    gc.collect()
    dump["media"] = {_part(dump)["id"]: "AAAA"}
    with pytest.raises(MemoryFailure, match="image of an unknown form") as raised:
        log.load(json.dumps(dump))
    assert raised.value.variant == "Version"


@pytest.mark.parametrize("damage", ["DELETE FROM blob", "UPDATE blob SET data = x'474946383961'"])
def test_a_store_that_lost_a_content_says_so(tmp_path, damage):
    store = SqliteStore(str(tmp_path / "m.db"))
    log = Memory(Policy(), name="chat", store=store)
    turn(log, "a", photo(b"lost"))
    gc.collect()
    store._connection.execute(damage)
    with pytest.raises(MemoryFailure, match="m.db.*media") as raised:
        log.messages()
    assert raised.value.variant == "Corrupt"
    store.close()


def test_erasing_leaves_no_byte_of_it_in_the_file(tmp_path):
    log = Memory(Policy(), name="chat", store=SqliteStore(str(tmp_path / "m.db")))
    turn(log, "a", photo(b"x" * 100_000))
    log.fork("side")
    assert MARKER in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    log.erase(run="a")
    assert MARKER not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    log.store.close()


def test_a_store_of_the_format_before_gets_the_tables(tmp_path):
    path = str(tmp_path / "m.db")
    old = SqliteStore(path)
    log = Memory(Policy(), name="chat", store=old)
    turn(log, "a")
    before = log.dump()
    for statement in ("DROP TABLE blob", "DROP TABLE media", "UPDATE meta SET format = 4"):
        old._connection.execute(statement)
    old.close()
    log = Memory(Policy(), name="chat", store=SqliteStore(path))
    assert log.dump() == before and log.store._rows("SELECT format FROM meta") == [(5,)]
    turn(log, "b", photo())
    assert blobs(log.store, log.key) == 1
    log.store.close()


# ---------------------------------------------------------------- what is shown


def test_the_step_shows_media_of_the_newest_turns(memory):
    log = memory(media_last=2)
    for number in range(4):
        turn(log, f"r{number}", photo(name=f"{number}.gif"), text=f"q{number}" if number else "")
    shown = [message for message in open_run([Attached(log)], "s", [Msg("user", "x")]).head if message.role == "user"]
    assert [message.content for message in shown] == ["<image 0.gif 23 B>", "<image 1.gif 23 B>\nq1", "q2", "q3"]
    assert [len(message.media) for message in shown] == [0, 0, 1, 1]
    assert [len(message.media) for message in log.messages() if message.role == "user"] == [1] * 4


def test_what_is_not_shown_has_no_tokens_of_it(memory):
    log = memory(media_last=1, tokens=200)
    for number in range(3):
        turn(log, f"r{number}", photo())
    shown = open_run([Attached(log)], "s", [Msg("user", "x")]).head
    assert [bool(message.media) for message in shown] == [False, False, False, False, True, False]
    assert sum(map(count_message, shown)) < 200


def test_pinned_units_keep_theirs(memory):
    log = memory(media_last=1, pin_roles=frozenset(("user",)))
    turn(log, "a", photo())
    turn(log, "b", photo())
    shown = open_run([Attached(log)], "s", [Msg("user", "x")]).head
    assert [len(message.media) for message in shown] == [1, 0, 1, 0]


def test_tool_units_as_text_have_their_display(memory):
    log = memory(tools=True)
    made = open_run([Attached(log)], "r", [Msg("user", "q")])
    made.add_round("", [Call("c1", "draw", {})], [Msg("tool", "done", (), "c1", media=(photo(),))])
    made.commit("a")
    assert media_of(log.messages()) == [[], [], [b"GIF89a" + MARKER], []]
    shown = open_run([Attached(log)], "s", [], tools_offered=False).head
    assert shown[1].content == "[draw({}) -> <image p.gif 23 B>\ndone]" and not shown[1].media


def test_redaction_rewrites_names_and_refuses_links(memory):
    log = memory(redact=(pii,))
    turn(log, "a", photo(name="of ann@example.org.gif"))
    (part,) = log.messages()[0].media
    assert part.name == "of [redacted:email]" and part.content.data == b"GIF89a" + MARKER
    link = MediaPart(link_to("image", "https://a.example/ann@example.org"), "https://a.example/ann@example.org", 9)
    with pytest.raises(MemoryFailure, match="address of a link") as raised:
        turn(log, "b", link)
    assert raised.value.variant == "Redaction" and len(log.messages()) == 2


# ---------------------------------------------------------------- tokens


def png(width: int, height: int):
    return content_of("image", b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height))


@pytest.mark.parametrize(
    ("provider", "size", "tokens"),
    [
        ("anthropic", (1024, 1024), 1369), ("anthropic", (1920, 1080), 2691), ("anthropic", (28, 29), 2),
        ("anthropic", (5152, 2576), 46 * 92), ("anthropic", (1, 1 << 31), 92),
        ("openai", (1024, 1024), 1229), ("openai", (256, 256), 77), ("openai", (1 << 31, 1 << 31), 12_000),
        ("google", (10, 10), 1120), ("ollama", (10, 10), 1000),
    ],
)  # fmt: skip
def test_tokens_of_pictures_are_what_the_provider_publishes(provider, size, tokens):
    """The first ones are measured: https://huggingface.co/datasets/JOHNISKING/image-token-cost, read on 2026-11-27."""
    assert tokens_of(png(*size), resolve("c", [{"c": {"provider": provider}}])) == tokens


def test_tokens_of_other_media():
    settings = resolve("c", [{"c": {"provider": "anthropic", "media_tokens": 33}}])
    assert tokens_of(content_of("audio", b"RIFF0000WAVE"), settings) == 33
    assert tokens_of(content_of("image", b"GIF89a"), settings) == 33  # its size is cut off
    assert tokens_of(link_to("image", "https://a.example/p.png"), settings) == 33
    assert tokens_of(content_of("document", b"x" * 401), settings) == 101
    assert tokens_of(content_of("document", b"%PDF-"), None) == 1000
