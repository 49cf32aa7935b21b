"""Token counts and the words of a text (M-10.8, M-11; law I20)."""

import re
import time

import pytest
from concerto.runtime.media import MediaPart
from concerto.runtime.memory.entries import count_message, count_text, count_with, longest_prefix
from concerto.runtime.memory.redaction import pii
from concerto.runtime.memory.terms import terms
from concerto.runtime.records import Call, Msg
from concerto.vm.values.media import content_of
from hypothesis import given
from hypothesis import strategies as st

SCRIPTS = ["a", "ü", "ж", "א", "ع", "ह", "ไ", "漢", "かな", "한", "𝄞", "👩‍👩‍👧", "\0", "\ud800"]


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_script_counts(text):
    assert count_text("") == 4
    assert count_text(text) >= 5
    assert count_text(text * 100) == 4 - (-len(text.encode("utf-8", "surrogatepass")) * 100 // 4)


@given(st.text(), st.text(min_size=1))
def test_adding_text_never_counts_less(text, more):
    assert count_text(text + more) >= count_text(text)
    assert count_message(Msg("user", text, (Call("c", "f", {"q": more}),))) > count_text(text)


def test_arguments_results_and_media_count():
    plain = count_message(Msg("assistant", "", (Call("c", "find", {}),)))
    assert plain == 4 + -(-(4 + 2 + 8) // 4)
    assert count_message(Msg("assistant", "", (Call("c", "find", {"k": "v" * 100}),))) > plain + 25
    assert count_message(Msg("assistant", "", (Call("c", "find", None, "not json" * 10),))) > plain
    assert count_message(Msg("tool", "x" * 40, (), "c")) == 4 + (40 + 8) // 4
    photo = MediaPart(content_of("image", b"GIF89a"), None, 1024)
    assert count_message(Msg("user", "", media=(photo, photo))) == 4 + 2048


def test_a_host_counter_that_gives_nothing_is_not_believed():
    message = Msg("user", "hello")
    assert count_with(lambda each, model: 3, message) == 3
    assert count_with(lambda each, model: 0, message) == count_with(None, message) == 6


@given(st.text(), st.integers(0, 40))
def test_the_longest_prefix_fits_and_no_longer_one_does(text, limit):
    cut = longest_prefix(text, limit)
    assert text.startswith(cut)
    assert not cut or count_text(cut) <= limit
    if cut != text and limit > 4:
        assert count_text(text[: len(cut) + 1]) > limit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World", ["hello", "world"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("snake_case-name", ["snake_case-name", "snake", "case", "name"]),
        ("ﬁne ①", ["fine", "1"]),
        ("東京都 駅", ["東京", "京都", "駅"]),
        ("ใช่", ["ใช", "ช่"]),
        ("v2漢字x", ["v2", "漢字", "x"]),
        ("-- __ !?", []),
    ],
)
def test_terms(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("to jane.doe+x@mail.example.org!", "to [redacted:email]!"),
        ("a@b.c+x@d.e.,f@g.h a@b@c.d", "[redacted:email][redacted:email].,[redacted:email] a@[redacted:email]"),
        ("key sk-abcdefghijklmnop1234", "key [redacted:api_key]"),
        ("DE89 3704 0044 0532 0130 00", "[redacted:iban]"),
        ("NO9386011117947", "[redacted:iban]"),
        ("ES9121000418450200051332 BIC CAIXESBB", "[redacted:iban] BIC CAIXESBB"),
        ("ES91 2100 0418 4502 0005 1332 CAIX ESBB", "[redacted:iban] CAIX ESBB"),
        ("ES9121000418450200051332 DE89 3704 0044 0532 0130 00", "[redacted:iban] [redacted:iban]"),
        ("AB12 CDEF ES91 2100 0418 4502 0005 1332", "AB12 CDEF [redacted:iban]"),
        ("ES92 2100 0418 4502 1115 1332 BIC", "ES92 2100 0418 4502 1115 1332 BIC"),
        ("card 4111-1111-1111-1111.", "card [redacted:card]."),
        ("call +47 22 33 44 55 now", "call [redacted:phone] now"),
        ("call (555) 123-4567", "call [redacted:phone]"),
        ("order 1234567890123456", "order 1234567890123456"),
        ("on 2026-11-22 at 10:30, version 3.11.7, pi 3.14159265", "on 2026-11-22 at 10:30, version 3.11.7, pi 3.14159265"),
        ("the sum is 1234567", "the sum is 1234567"),
    ],
)
def test_pii(text, expected):
    assert pii(text) == expected


OLD_EMAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")


@given(st.text("ab@.+ ", max_size=30))
def test_every_address_is_found(text):
    assert pii(text) == OLD_EMAIL.sub("[redacted:email]", text)


@pytest.mark.parametrize("text", ["a", "a@", "@a", "a.", "a@b.", "a-1", "sk-", "AB12 ", "1 ", "+1"])
@pytest.mark.parametrize("middle", ["", "@"])
def test_time_is_linear(text, middle):
    """What takes two seconds at most would take half a minute if it were quadratic."""
    began = time.process_time()
    pii(text * 100_000 + middle + "b" * 100_000)
    assert time.process_time() - began < 10
