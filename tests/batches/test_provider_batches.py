"""Batches of the providers: sent by one process, collected by another, for half the price (S-2.4)."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from concerto.runtime.calls.usage import list_price

from ..command import Ended, concerto
from .provider_server import ProviderServer
from .serving import lines

FORMS = {
    "chat": ("openai", '"/v1", api: "chat"', "gpt-5.4-mini"),
    "responses": ("openai", '"/v1", api: "responses"', "gpt-5.4-mini"),
    "anthropic": ("anthropic", '""', "claude-sonnet-4-5"),
}
BODY = "pub fn ask(text: String) -> Result<String, AgentError> { Ok(M.execute(text)?.text) }"
PRICES = '[pricing."{}"]\ninput_per_million = 2.0\noutput_per_million = 4.0\n'


def program(folder: Path, server: ProviderServer, form: str, body: str = BODY, prices: bool = True) -> None:
    provider, rest, model = FORMS[form]
    path, _, more = rest.partition(",")
    url = f"http://127.0.0.1:{server.port}{json.loads(path)}"
    (folder / "ask.conc").write_text(
        f'connect far {{ provider: "{provider}", base_url: "{url}", api_key: env("K"){"," if more else ""}{more} }}\n'
        f'model M {{ provider: far, base: "{model}", max_tokens: 600 }}\n{body}\n'
    )
    if prices:
        (folder / "Concerto.toml").write_text(PRICES.format(model))


def batch(folder: Path, *words: str, sends: bool = True) -> Ended:
    given = ["--provider-batch"] if sends else []
    all_words = ("batch", "ask.conc", "--fn", "ask", "--in", "rows.jsonl", "--out", "out.jsonl", *given, *words)
    return concerto(*all_words, cwd=folder, K="secret-key-1")


def rows(folder: Path, *texts: str) -> None:
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_is_sent_by_one_process_and_collected_by_another(tmp_path: Path, form: str) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, form)
        rows(tmp_path, "a", "b", "fail c", "a")
        server.hold = True
        sent = batch(tmp_path)
        assert sent.code == 75, sent
        assert sent.err == "4 rows are on their way in 1 batches of the provider. Collect it with the same command\n"
        assert batch(tmp_path).code == 75 and len(server.batches) == 1  # nothing is sent twice
        server.hold = False
        done = batch(tmp_path)
        assert done.code == 1, done
        assert [(line["row"], line["result"]) for line in lines(tmp_path / "out.jsonl")] == [
            (1, "re: a"),
            (2, "re: b"),
            (4, "re: a"),
        ]
        [failed] = lines(tmp_path / "out.errors.jsonl")
        assert failed["error"] == {"kind": "Provider", "status": 400, "message": "it does not want to"}
        # 3 replies of 1,000 and 500 tokens: 3 * (0.002 + 0.002) at the prices of the program, for half of that
        assert "3 done, 1 failed, 4500 tokens, cost 0.0060, " in done.out
        again = batch(tmp_path)
        assert "4 from the store" in again.out and sorted(server.asked) == ["a", "a", "b"] and len(server.batches) == 1


def test_what_a_provider_did_not_get_to_is_sent_again(tmp_path: Path) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "anthropic")
        rows(tmp_path, "a", "gone b")
        assert batch(tmp_path).code == 75
        assert batch(tmp_path).code == 75  # what has expired goes with another batch
        assert [len(sent) for sent in server.requests.values()] == [2, 1]
        assert [line["row"] for line in lines(tmp_path / "out.jsonl")] == [1]


@pytest.mark.parametrize("form", FORMS)
def test_with_wait_one_command_does_it_all(tmp_path: Path, form: str) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, form)
        rows(tmp_path, *(f"row {number}" for number in range(30)))
        done = batch(tmp_path, "--wait", "0.1")
        assert done.code == 0, done
        assert "30 rows: 30 done, 0 failed" in done.out
        assert [line["row"] for line in lines(tmp_path / "out.jsonl")] == list(range(1, 31))


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_whose_sender_died_is_found_again(tmp_path: Path, form: str) -> None:
    """The answer to the request that made it was lost: the store knows that it was about to be sent, no more."""
    with ProviderServer() as server:
        program(tmp_path, server, form)
        rows(tmp_path, "a", "b")
        server.lose_answer = True
        lost = batch(tmp_path)
        assert lost.code == 1 and "cannot send the batch: " in lost.err and "secret-key-1" not in lost.err
        done = batch(tmp_path)
        assert done.code == 0, done
        assert len(server.batches) == 1 and sorted(server.asked) == ["a", "b"]


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_that_names_no_batch_is_refused_and_the_batch_found_again(tmp_path: Path, form: str) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, form)
        rows(tmp_path, "a", "b")
        server.lose_id = True
        lost = batch(tmp_path)
        assert lost.code == 1 and "the provider's answer to the batch cannot be read: KeyError: 'id'" in lost.err, lost
        done = batch(tmp_path)
        assert done.code == 0 and len(server.batches) == 1 and sorted(server.asked) == ["a", "b"], done


def test_a_batch_that_was_never_sent_is_sent(tmp_path: Path) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "chat")
        rows(tmp_path, "a")
        assert batch(tmp_path).code == 75
        server.batches.clear()
        with sqlite3.connect(tmp_path / "out.jsonl.rows") as db:
            db.execute("UPDATE jobs SET state = 'new'")
        db.close()
        assert batch(tmp_path).code == 75 and len(server.batches) == 1
        assert batch(tmp_path).code == 0


def test_a_row_that_changed_meanwhile_gets_no_old_answer(tmp_path: Path) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "chat")
        (tmp_path / "rows.jsonl").write_text('{"id": 1, "text": "old"}\n')
        assert batch(tmp_path, "--key", "id").code == 75
        (tmp_path / "rows.jsonl").write_text('{"id": 1, "text": "new"}\n')
        assert batch(tmp_path, "--key", "id").code == 75
        assert batch(tmp_path, "--key", "id").code == 0
        assert lines(tmp_path / "out.jsonl") == [{"row": 1, "key": "1", "result": "re: new"}]


SECOND = "pub fn ask(text: String) -> Result<String, AgentError> { let a = M.execute(text)?.text; Ok(M.execute(a)?.text) }"
STREAM = "pub fn ask(text: String) -> Result<String, AgentError> { let s = M.stream(text)?; Ok(s.text()?) }"
CHANGES = (
    'use std::time;\npub fn ask(text: String) -> Result<String, AgentError> { Ok(M.execute("${text} ${time::now()}")?.text) }'
)
CHOOSES = (
    'pub fn ask(text: String) -> Result<String, AgentError> { if text == "no" { return Ok("none"); } Ok(M.execute(text)?.text) }'
)


@pytest.mark.parametrize(("body", "runs", "words"), [
    (SECOND, 2, "the function sends a second request for the row"),
    (CHANGES, 2, "asks something else than was sent"),
])  # fmt: skip
def test_functions_that_are_more_than_one_call(tmp_path: Path, body: str, runs: int, words: str) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "chat", body)
        rows(tmp_path, "a")
        for _ in range(runs):
            ended = batch(tmp_path)
        assert ended.code == 1, ended
        [failed] = lines(tmp_path / "out.errors.jsonl")
        assert failed["error"]["kind"] == "Batch" and words in failed["error"]["message"]  # type: ignore[index]
        one_by_one = batch(tmp_path, "--only-failed", sends=False)
        assert one_by_one.code == 0, one_by_one


def test_a_row_that_needs_no_model_is_done_at_once(tmp_path: Path) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "chat", CHOOSES)
        rows(tmp_path, "no", "yes")
        assert batch(tmp_path).code == 75
        assert lines(tmp_path / "out.jsonl") == [{"row": 1, "result": "none"}]
        assert batch(tmp_path).code == 0


def test_other_providers_have_none(tmp_path: Path) -> None:
    (tmp_path / "ask.conc").write_text(f'model M {{ provider: groq, base: "m" }}\n{BODY}\n')
    rows(tmp_path, "a")
    ended = batch(tmp_path)
    assert ended.code == 1 and "connection groq: its provider has no batches here; openai and anthropic have" in ended.err


@pytest.mark.parametrize("words", [["--max-cost", "1"], ["--offline"], ["--on", "ray"]])
def test_flags_that_do_not_fit(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "ask.conc").write_text("pub fn ask(text: String) -> String { text }")
    rows(tmp_path, "a")
    assert batch(tmp_path, *words).code == 2


def test_published_prices_of_batches() -> None:
    pytest.importorskip("genai_prices")
    for address, model in (("https://api.openai.com/v1", "gpt-5.4-mini"), ("https://api.anthropic.com", "claude-sonnet-4-5")):
        usual = list_price(address, model, 1000, 1000)
        batch_price = list_price(address, model, 1000, 1000, is_batch=True)
        assert usual is not None and batch_price is not None and batch_price == pytest.approx(usual / 2)


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_with_half_a_character_is_collected(tmp_path: Path, form: str) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, form)
        rows(tmp_path, "a", "half")
        assert batch(tmp_path).code == 75
        done = batch(tmp_path)
        assert done.code == 0, done
        assert [line["result"] for line in lines(tmp_path / "out.jsonl")] == ["re: a", "re: \ufffd"]


@pytest.mark.parametrize(
    ("answers", "kind"),
    [(b"[" * 50_000, "RecursionError"), (b'{"custom_id": "c", "response": "text"}', "AttributeError"), (b"{", "JSONDecodeError")],
)
def test_answers_of_another_shape_are_no_internal_error(tmp_path: Path, answers: bytes, kind: str) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "chat")
        rows(tmp_path, "a")
        assert batch(tmp_path).code == 75
        server.files["other"] = answers + b"\n"
        server.says = b'{"status": "completed", "output_file_id": "other"}'
        refused = batch(tmp_path)
        assert refused.code == 1 and f"answer about the batch batch_0 cannot be read: {kind}" in refused.err, refused
        server.says = None
        assert batch(tmp_path).code == 0


def test_a_missing_key_ends_the_command_as_it_does_without_batches(tmp_path: Path) -> None:
    with ProviderServer() as server:
        program(tmp_path, server, "chat")
        rows(tmp_path, "a", "b")
        words = ("batch", "ask.conc", "--fn", "ask", "--in", "rows.jsonl", "--out", "out.jsonl", "--provider-batch")
        for sent in (False, True):
            lacking = concerto(*words, cwd=tmp_path)
            assert lacking.code == 2 and "environment variable K is not set" in lacking.err, lacking
            assert "the same batch goes on later" in lacking.err and len(server.batches) == sent
            if not sent:
                assert batch(tmp_path).code == 75
        assert batch(tmp_path).code == 0 and sorted(server.asked) == ["a", "b"]
