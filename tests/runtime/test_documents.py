"""The text of documents (O-1.245): PDFs, sound ones and hostile ones, the thread that reads them, and its end."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.effects import documents
from concerto.runtime.effects.documents import Failed, text_of

MOST = 16 << 20
PROGRAM = concerto.compile("""
    use std::media;
    pub fn read(m: media::Media) -> Result<String, Error> { m.text() }
    fn text_of(m: media::Media) -> Result<String, Error> { m.text() }
    pub fn beside(m: media::Media) -> Int {
        let reading = spawn text_of(m);
        std::time::sleep(1);
        emit("meanwhile", 1);
        match await reading { Ok(t) => t.len(), Err(_) => -1 }
    }
""")


@pytest.fixture
def session() -> Iterator[concerto.Session]:
    with PROGRAM.session(budgets=concerto.Budgets(seconds=60)) as session:
        yield session


def pdf(*pages: str, flate: bool = False, more: bytes = b"") -> bytes:
    """A PDF of pages with a line each; `more` are entries of the first page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    numbers = []
    for page in pages:
        content = b"BT /F1 12 Tf 50 700 Td (" + page.encode("latin-1") + b") Tj ET"
        content, form = (zlib.compress(content), b" /Filter /FlateDecode") if flate else (content, b"")
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(content), form, content))
        entries = b"/Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> %s" % (len(objects), more)
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] %s >>" % entries)
        numbers.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(numbers), b" ".join(numbers))
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        size, table, size, len(out),
    )  # fmt: skip


def encrypted(password: str) -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf("Secret."))))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def refused(data: bytes, most: int = MOST) -> Failed:
    with pytest.raises(Failed) as failed:
        text_of(data, most)
    return failed.value


def error_of(session: concerto.Session, media: concerto.Media) -> concerto.ErrorValue:
    with pytest.raises(concerto.ProgramError) as failed:
        session.call("read", media)
    return failed.value.error


def reading() -> bool:
    return any(thread.name == "concerto-pdf" for thread in threading.enumerate())


def wait_until_nobody_reads() -> None:
    while reading():  # a test that never ends here is a thread that never does
        time.sleep(0.005)


def test_pages_are_paragraphs_and_those_without_text_are_left_out(session: concerto.Session) -> None:
    media = concerto.Media(pdf("One two.", "", "Gr\xfc\xdfe?", flate=True), "a.pdf")
    assert session.call("read", media) == "One two.\n\nGrüße?"
    assert session.call("read", concerto.Media(pdf(""))) == ""


def test_the_text_of_a_text_is_its_content_without_a_mark(session: concerto.Session) -> None:
    assert session.call("read", concerto.Media("\ufeffa\r\n\ufeff".encode())) == "a\r\n\ufeff"


def test_what_has_no_text_says_why(session: concerto.Session) -> None:
    cases = [
        (concerto.Media(b"GIF89a\x02\x00\x03\x00", "a.gif"), "OtherKind", "a.gif: it is image/gif"),
        (concerto.Media.link("document", "https://a.example/"), "NoContent", "https://a.example/: a link"),
        (concerto.Media(b"%PDF-1.7\n<<", "b.pdf"), "Unreadable", "b.pdf: it is no sound PDF"),
    ]
    for media, variant, message in cases:
        error = error_of(session, media)
        assert (error.kind, error.variant) == ("MediaError", variant) and error.message.startswith(message)


def test_other_tasks_run_meanwhile(session: concerto.Session) -> None:
    seen: list[Any] = []
    session.on("meanwhile", seen.append)
    assert session.call("beside", concerto.Media(pdf("One"))) == 3 and len(seen) == 1


def test_without_the_package_the_error_says_how_to_install_it(session: concerto.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    error = error_of(session, concerto.Media(pdf("One")))
    assert error.variant == "Unsupported" and "extra `pdf`" in error.message and "pip install 'pypdf" in error.message


# ----------------------------------------------------------------
# Hostile documents.


def test_a_password_is_said() -> None:
    assert text_of(encrypted(""), MOST) == "Secret."
    failed = refused(encrypted("x"))
    assert failed.variant == "Unreadable" and "encrypted" in failed.reason


def test_too_many_pages_and_too_long_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pdf("abc", "def")
    assert text_of(data, 8) == "abc\n\ndef"
    assert refused(data, 7).variant == "TooLarge"
    monkeypatch.setattr(documents, "MOST_PAGES", 1)
    assert refused(data).variant == "TooLarge"


def test_a_stream_that_grows_without_end_is_refused() -> None:
    bomb = zlib.compress(b" " * 200_000_000)
    content = b"BT /F1 12 Tf 50 700 Td (x) Tj ET"
    data = pdf("x").replace(content, bomb)
    data = data.replace(b"/Length %d" % len(content), b"/Filter /FlateDecode /Length %d" % len(bomb))
    assert refused(data).variant == "TooLarge"


def test_deep_nesting_and_circles_are_refused_or_read() -> None:
    for more in (b"/X " + b"[" * 50_000 + b"]" * 50_000, b"/X " + b"<< /A " * 50_000 + b">>" * 50_000, b"/Contents 5 0 R"):
        try:
            assert isinstance(text_of(pdf("x", more=more), MOST), str)
        except Failed as failed:
            assert failed.variant in ("Unreadable", "TooLarge") and len(failed.reason) < 300
    circle = pdf("x").replace(b"/Kids [5 0 R]", b"/Kids [2 0 R]")
    assert refused(circle).variant in ("Unreadable", "TooLarge")


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_document_is_text_or_a_typed_error(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(seed)
    sound = pdf("One two three.", "Four", flate=seed % 2 == 0)
    for _ in range(40):
        data = bytearray(sound)
        for _ in range(draw.randint(1, 8)):
            at = draw.randrange(9, len(data))
            data[at : at + draw.randint(0, 3)] = draw.choice((b"", b"0", b"<<", b"[", b"(", b"9999999999", draw.randbytes(1)))
        try:
            assert isinstance(text_of(bytes(data), MOST), str)
        except Failed as failed:
            assert failed.variant in ("Unreadable", "TooLarge")
    assert capfd.readouterr() == ("", "")


# ----------------------------------------------------------------
# The thread.


def endless(data: bytes, most: int) -> str:
    while True:
        with suppress(Exception):  # what pypdf does in places must not keep the thread alive
            sum(range(100))


def test_one_that_takes_too_long_is_an_error(session: concerto.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SECONDS", 0.05)
    monkeypatch.setattr(documents, "text_of", endless)
    error = error_of(session, concerto.Media(pdf("One"), "a.pdf"))
    assert error.variant == "Timeout" and error.message == "a.pdf: its text was not found within 0.05 s"
    wait_until_nobody_reads()


def test_the_time_of_the_run_ends_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "text_of", endless)
    with PROGRAM.session(budgets=concerto.Budgets(seconds=0.1)) as session, pytest.raises(concerto.Panic) as panic:
        session.call("read", concerto.Media(pdf("One")))
    assert panic.value.code == "P102"
    wait_until_nobody_reads()


def test_a_cancelled_run_ends_the_thread(session: concerto.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "text_of", endless)
    timer = threading.Timer(0.1, session.cancel)
    timer.start()
    with pytest.raises(concerto.ProgramError, match="cancelled"):
        session.call("read", concerto.Media(pdf("One")))
    wait_until_nobody_reads()


def test_a_run_without_asyncio_reads_too(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("One."))
    source = 'fn main() -> Result<Nil, Error> { println(std::media::document("a.pdf")?.text()?); Ok() }'
    (tmp_path / "a.conc").write_text(source)
    code = "import sys; from concerto.cli.main import main; print(main(sys.argv[1:]), 'asyncio' in sys.modules)"
    command = [sys.executable, "-c", code, "run", "a.conc", "--offline", "--allow-fs-read"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("One.\n0 False\n", "")
