"""The counters of a session and the price of its requests (O-1.131, O-1.132)."""

import pytest
from concerto.runtime.calls.call import execute, execute_with_schema
from concerto.runtime.calls.reply_cache import ReplyCache
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.calls.usage import Metrics, price
from concerto.runtime.errors import CallFailure
from concerto.runtime.records import ToolDef
from concerto.runtime.schema.strategy import Schema

PRICES = {"m": {"input_per_million": 3.0, "output_per_million": 15.0}}
CONNECTION = {"box": {"provider": "custom", "base_url": "http://x", "retry": {"initial_delay_ms": 0}}}
KIND = Schema("Kind", ["object", "Kind", [], [["kind", ["enum", ["bug", "task"]], False, False, None, None]]])


def test_the_names_of_the_counters():
    assert list(Metrics().as_json()) == [
        "total_tokens", "tokens_by_model", "tokens_by_connection", "estimated_cost", "unpriced_calls", "execution_time_ms",
        "model_calls", "retries", "schema_retries", "cache_hits", "tool_calls", "agent_calls", "emit_count", "errors",
        "tokens_in", "tokens_cached", "tokens_cache_write", "tokens_out", "tokens_reasoning", "tokens_estimated", "hosted_calls",
    ]  # fmt: skip


def test_a_price_is_that_of_a_million_tokens():
    assert price(PRICES, "m", 1_000_000, 2_000_000) == 33.0
    assert price(PRICES, "m", 10, 0) == 0.00003
    assert price(PRICES, "other", 10, 0) is None


CACHE_PRICES = {"m": {**PRICES["m"], "cached": 0.3, "cache_write": 3.75}, "half": {**PRICES["m"], "cached": 0.3}}


@pytest.mark.parametrize(
    ("model", "counts", "cost"),
    [
        ("m", (1000, 0, 900, 0), (100 * 3 + 900 * 0.3)),
        ("m", (1000, 10, 900, 50), (50 * 3 + 900 * 0.3 + 50 * 3.75 + 10 * 15)),
        ("half", (1000, 0, 900, 50), (100 * 3 + 900 * 0.3)),
        ("m", (1000, 0, 5000, 5000), 1000 * 0.3),  # never more than there were
    ],
)
def test_cached_tokens_have_their_own_price(model, counts, cost):
    """O-1.221."""
    assert price(CACHE_PRICES, model, *counts) == pytest.approx(cost / 1_000_000)


def test_published_prices_are_those_of_the_endpoint():
    """O-1.136."""
    pytest.importorskip("genai_prices", reason="genai-prices is not installed: pip install 'concerto-lang[prices]'")
    from concerto.runtime.calls.usage import list_price

    at = "https://api.openai.com/v1"
    whole, cached = list_price(at, "gpt-4o-mini", 1000, 0), list_price(at, "gpt-4o-mini", 1000, 0, 900)
    assert 0 < cached < whole
    assert list_price("http://127.0.0.1:9/v1", "gpt-4o-mini", 1000, 0) is None
    assert list_price(at, "no-such-model", 1000, 0) is None
    assert list_price(None, "gpt-4o-mini", 1000, 0) is None


def test_without_the_package_nothing_is_published(monkeypatch):
    from concerto.runtime.calls import usage

    monkeypatch.setattr(usage, "_price_package", lambda: None)
    assert usage.list_price("https://api.openai.com/v1", "gpt-4o-mini", 1000, 0) is None


def test_every_counter_of_calls(bench, finish):
    made = bench(
        [
            {"error": "server"},
            {"text": "a", "tokens_in": 1, "tokens_out": 2},
            {"text": "no json", "tokens_in": 10, "tokens_out": 20},
            {"text": '{"kind": "bug"}', "tokens_in": 100, "tokens_out": 200},
            {
                "tool_calls": [{"tool": "T__f", "arguments": {}}, {"tool": "T__f", "arguments": {}}],
                "tokens_in": 1000,
                "tokens_out": 0,
            },
            {"text": "b", "tokens_in": 0, "tokens_out": 0},
            {"error": "not_found"},
        ],
        CONNECTION,
        pricing=PRICES,
    )
    made.pool["box"].free_and_instant = False
    tools = [ToolDef("T__f", "", {"type": "object"})]
    cached = ReplyCache({"ttl_seconds": 9}, lambda: made.now)
    plain = call_settings("M", {"base": "m"}, {}, made.connections["box"], cache=cached)
    other = call_settings("N", {"base": "n"}, {}, made.connections["box"], tools=tools)
    assert finish(execute(made.services, plain, "q", run_id="1")).attempts == 2
    assert finish(execute(made.services, plain, "q", run_id="2")).cached
    finish(execute_with_schema(made.services, plain, "s", KIND, run_id="3"))
    assert finish(execute(made.services, other, "t", run_id="4")).cost is None
    with pytest.raises(CallFailure):
        finish(execute(made.services, other, "u", run_id="5"))
    counted = made.metrics.as_json()
    assert counted.pop("estimated_cost") == pytest.approx((111 * 3 + 222 * 15) / 1_000_000)
    assert {name: value for name, value in counted.items() if value} == {
        "total_tokens": 1333, "tokens_by_model": {"m": 333, "n": 1000}, "tokens_by_connection": {"box": 1333},
        "unpriced_calls": 2, "model_calls": 7, "retries": 1, "schema_retries": 1, "cache_hits": 1, "tool_calls": 2, "errors": 1,
        "tokens_in": 1111, "tokens_out": 222,
    }  # fmt: skip
