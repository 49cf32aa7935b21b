"""Pictures, sounds and documents between Python and a program (O-1.205)."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import concerto
import pytest

GIF = b"GIF89a\x02\x00\x03\x00"
PROGRAM = concerto.compile("""
    use std::media;
    memory log: Memory = Memory::new();
    model M { provider: offline, memory: log }
    pub fn told(m: media::Media) -> String { "${m} ${m.mime}" }
    pub fn same(m: media::Media) -> media::Media { m }
    pub fn many(all: Array<media::Media>) -> Array<media::Media> { all }
    pub fn whatever(x: Any) -> Any { x }
    pub fn look(p: Prompt) -> Result<String, AgentError> { Ok(M.execute(p)?.text) }
    pub fn see(m: media::Media) -> Result<String, AgentError> { Ok(M.execute(Prompt::new("what?").with(m))?.text) }
    pub fn kept() -> Array<Message> { log.messages() }
    pub fn described(m: media::Media) -> Result<media::Media, Error> {
        Ok(std::json::parse_as<media::Media>(std::json::stringify(m))?)
    }
    pub fn emits(m: media::Media) { emit("seen", m); }
""")


@pytest.fixture
def session():
    with PROGRAM.session(offline=True) as session:
        yield session


def test_a_file_is_what_its_content_says(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(GIF)
    media = concerto.Media.open(path)
    assert (media.kind, media.mime, media.name, media.size, bytes(media)) == ("image", "image/gif", "photo.jpg", 10, GIF)
    assert repr(media) == "<image photo.jpg 10 B>" and media.url is None
    assert media == concerto.Media(GIF, "photo.jpg") != concerto.Media(GIF)
    assert len({media, concerto.Media(GIF, "photo.jpg")}) == 1
    assert pickle.loads(pickle.dumps(media)) == media
    assert concerto.Media("grüße".encode()).kind == "document"


def test_what_is_no_media_says_why(tmp_path: Path) -> None:
    for data in (b"", b"\xff\0"):
        with pytest.raises(ValueError, match="empty|no PDF or text"):
            concerto.Media(data)
    with pytest.raises(ValueError, match="x.gif: it is image/gif, which is no audio"):
        concerto.Media(GIF, "x.gif", kind="audio")
    with pytest.raises(ValueError, match="kind is one of"):
        concerto.Media(GIF, kind="film")
    with pytest.raises(ValueError, match="kind is one of"):
        concerto.Media.link("film", "https://a.example/x")
    with pytest.raises(ValueError, match="begins with"):
        concerto.Media.link("image", "file:///x")
    with pytest.raises(FileNotFoundError):
        concerto.Media.open(tmp_path / "none")
    (tmp_path / "large").write_bytes(b"a" * (20 * 1024 * 1024 + 1))
    with pytest.raises(ValueError, match="20971521 bytes"):
        concerto.Media.open(tmp_path / "large")


@pytest.mark.parametrize("data", ["abc", 3, None, [1], Path("a.png")])
def test_what_is_no_bytes_is_no_media(data: Any) -> None:
    """O-1.205: a ValueError that says so."""
    for more in ({}, {"kind": "document"}):
        with pytest.raises(ValueError, match=f"the media: its content is bytes, given {type(data).__name__}"):
            concerto.Media(data, **more)


def test_other_bytes_name_and_place() -> None:
    for data in (bytearray(GIF), memoryview(GIF)):
        assert concerto.Media(data) == concerto.Media(GIF)
    wrong: Any = 3
    with pytest.raises(ValueError, match="its name is a str, given int"):
        concerto.Media(GIF, wrong)
    with pytest.raises(ValueError, match="a path is a str or a path of pathlib, given int"):
        concerto.Media.open(wrong)
    with pytest.raises(ValueError, match="the address of a link is a str, given int"):
        concerto.Media.link("image", wrong)


def test_a_link_has_no_bytes() -> None:
    link = concerto.Media.link("document", "https://a.example/x.pdf")
    assert (link.url, link.mime, link.size, repr(link)) == ("https://a.example/x.pdf", "", 0, "<document https://a.example/x.pdf>")
    assert pickle.loads(pickle.dumps(link)) == link
    with pytest.raises(ValueError, match="no bytes here"):
        bytes(link)


def test_they_go_in_and_come_out(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.gif"
    path.write_bytes(GIF)
    for given in (concerto.Media.open(path), path):
        assert session.call("told", given) == "<image p.gif 10 B> image/gif"
        assert session.call("same", given) == concerto.Media(GIF, "p.gif") and bytes(session.call("same", given)) == GIF
    assert session.call("told", GIF) == "<image 10 B> image/gif"
    media = concerto.Media(GIF)
    assert session.call("many", [media, media, GIF]) == [media] * 3
    assert session.call("whatever", {"a": [media]}) == {"a": [media]}
    assert session.call("see", media) == "offline: [1 media: image 10 B] what?"
    assert session.call("kept")[0].media == [media]


def test_a_prompt_of_python_may_have_some(session: Any) -> None:
    asked = concerto.Struct("Prompt", text="look", media=[concerto.Media(GIF), GIF])
    assert session.call("look", asked) == "offline: [2 media: image 10 B, image 10 B] look"
    assert session.call("look", concerto.Struct("Prompt", text="none")) == "offline: none"
    assert session.call("look", "text") == "offline: text"


def test_what_is_no_media_is_a_type_error_that_names_the_place(session: Any, tmp_path: Path) -> None:
    for given, said in ((3, "expected Media, got int"), ("p.gif", "expected Media, got str"), (b"\0", "no PDF or text"),
                        (tmp_path / "none", "none")):  # fmt: skip
        with pytest.raises(TypeError, match=f"'m' of told.*{said}"):
            session.call("told", given)


def test_one_that_a_program_read_from_json_has_fields_alone(session: Any) -> None:
    described, media = session.call("described", concerto.Media(GIF)), concerto.Media(GIF)
    assert described == concerto.Struct("Media", kind="image", mime="image/gif", bytes=10, hash=media.hash, name=None)
    with pytest.raises(concerto.ProgramError, match="no content"):
        session.call("see", dict(described))


def test_listeners_get_them(session: Any) -> None:
    seen: list[Any] = []
    session.on("seen", seen.append)
    session.call("emits", concerto.Media(GIF, "a.gif"))
    assert seen == [concerto.Media(GIF, "a.gif")] and bytes(seen[0]) == GIF


class Image:
    """What is asked of a picture of Pillow."""

    def __init__(self, format: str | None) -> None:
        self.format = format

    def save(self, buffer: io.BytesIO, format: str) -> None:
        marks = {"PNG": b"\x89PNG\r\n\x1a\n", "GIF": GIF, "JPEG": b"\xff\xd8\xff"}
        buffer.write(marks[format])


Image.__module__ = "PIL.Image"


FORMS = [(None, "image/png"), ("TIFF", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif")]


@pytest.mark.parametrize(("format", "mime"), FORMS)
def test_pictures_of_pillow(session: Any, format: str | None, mime: str) -> None:
    assert session.call("told", Image(format)).endswith(f" B> {mime}")


def test_a_real_picture_of_pillow(session: Any, tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = pillow.new("RGB", (3, 2))
    assert session.call("told", picture).endswith("image/png")
    picture.save(tmp_path / "p.jpg")
    with pillow.open(tmp_path / "p.jpg") as opened:
        assert session.call("told", opened).startswith("<image p.jpg ") and session.call("same", opened).mime == "image/jpeg"
