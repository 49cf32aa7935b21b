"""Budgets of tokens and cost: reservations, who waits, what is settled (O-1.133, G-6.4)."""

import pytest
from concerto.runtime.budgets import REPLY_TOKENS, Account, prompt_tokens
from concerto.runtime.call_settings import call_settings
from concerto.runtime.calls import execute
from concerto.runtime.errors import CallFailure
from concerto.runtime.records import Msg, Reply, Request, SchemaField, ToolDef
from concerto.vm.panics import Panic

PRICES = {"m": {"input_per_million": 1_000_000.0, "output_per_million": 2_000_000.0}}
CONNECTION = {"box": {"provider": "custom", "base_url": "http://x", "retry": {"max_attempts": 1}}}


class Turn:
    """A future for code that no loop runs."""

    def __init__(self):
        self.result = None

    def done(self):
        return self.result is not None

    def set_result(self, value):
        self.result = (value,)

    def __await__(self):
        while self.result is None:
            yield self


def request(text="abcd", **fields):
    return Request(id="r", connection="box", model="m", messages=[Msg("user", text)], **fields)


def account(tokens=None, cost=None):
    return Account(tokens, cost, PRICES, Turn)


def test_what_a_request_may_use():
    assert prompt_tokens(request()) == 5  # 4 and a quarter of the bytes
    tool = ToolDef("t", "d", {"type": "object"})
    assert prompt_tokens(request(tools=[tool])) > 5
    shown = SchemaField("s", "native", {"type": "object"})
    assert prompt_tokens(request(schema=shown)) > 5
    assert prompt_tokens(request(schema=SchemaField("s", "prompt", {"type": "object"}))) == 5  # it stands in the message


@pytest.mark.parametrize(
    ("limits", "params", "code"),
    [
        ({"tokens": 5 + REPLY_TOKENS}, {}, None),
        ({"tokens": 4 + REPLY_TOKENS}, {}, "P401"),
        ({"tokens": 15}, {"max_tokens": 10}, None),
        ({"cost": 25.0}, {"max_tokens": 10}, None),
        ({"cost": 24.9}, {"max_tokens": 10}, "P402"),
        ({"tokens": 1, "cost": 1.0}, {"max_tokens": 10}, "P401"),
    ],
)
def test_a_request_beyond_a_limit_is_a_panic(finish, limits, params, code):
    made = account(**limits)
    if code is None:
        finish(made.reserve(request(params=params), False))
        return
    with pytest.raises(Panic) as raised:
        finish(made.reserve(request(params=params), False))
    assert raised.value.code == code
    assert "`max_tokens`" in raised.value.message  # what to do about it
    assert made.open == []


def test_an_unpriced_model_under_a_budget_of_cost(finish):
    unpriced = Account(None, 1.0, {}, Turn)
    with pytest.raises(Panic) as raised:
        finish(unpriced.reserve(request(), False))
    assert raised.value.code == "P403"
    assert '`[pricing."m"]` of Concerto.toml' in raised.value.message and "option `pricing`" in raised.value.message
    finish(unpriced.reserve(request(), True))  # what costs nothing needs no price
    finish(Account(10_000, None, {}, Turn).reserve(request(), False))


def test_a_reservation_is_the_dearest_of_what_caches_cost(finish):
    """O-1.136: all of the prompt may be written to a cache; where the program names no price, a published one counts."""
    row = {"input_per_million": 1.0, "output_per_million": 0.0, "cached": 0.1, "cache_write": 2.0}
    assert finish(Account(None, 1.0, {"m": row}, Turn).reserve(request(), False)).cost == 5 * 2.0 / 1_000_000
    published = Account(None, 1.0, {}, Turn)
    listed = finish(published.reserve(request(), False, None, lambda *tokens: tokens[0] / 100 + tokens[3] / 50))
    assert listed.cost == pytest.approx(5 / 100 + 5 / 50)


@pytest.mark.parametrize(
    ("end", "tokens", "cost"),
    [
        (lambda held: held.replied(Reply("x", tokens_in=1, tokens_out=2), 0.5), 3, 0.5),
        (lambda held: held.replied(Reply("x", tokens_in=1, tokens_out=2), None), 3, 0.0),
        (lambda held: held.failed(CallFailure("AgentError", "RateLimited", "no", status=429)), 0, 0.0),
        (lambda held: held.failed(CallFailure("TimeoutError", None, "late")), 15, 25.0),
        (lambda held: held.failed(None), 15, 25.0),
        (lambda held: held.returned(), 0, 0.0),
    ],
)
def test_what_is_settled(finish, end, tokens, cost):
    made = account(tokens=100, cost=100.0)
    end(finish(made.reserve(request(params={"max_tokens": 10}), False)))
    assert (made.used_tokens, made.used_cost, made.open) == (tokens, cost, [])


def test_a_request_waits_while_others_hold_a_reservation(finish):
    made = account(tokens=20)
    first = finish(made.reserve(request(params={"max_tokens": 10}), False, "a"))
    second = made.reserve(request(params={"max_tokens": 10}), False, "b")
    waits = second.send(None)
    assert not waits.done()
    first.replied(Reply("x", tokens_in=1, tokens_out=1), None)
    with pytest.raises(StopIteration) as stop:
        second.send(None)
    assert made.open == [stop.value.value]
    with pytest.raises(Panic):  # its own reservation nobody gives back meanwhile
        finish(made.reserve(request(params={"max_tokens": 10}), False, "b"))


def test_who_still_finds_no_room_panics_when_nothing_is_open(finish):
    made = account(tokens=20)
    first = finish(made.reserve(request(params={"max_tokens": 10}), False, "a"))
    second = made.reserve(request(params={"max_tokens": 10}), False, "b")
    second.send(None)
    first.failed(None)
    with pytest.raises(Panic) as raised:
        second.send(None)
    assert raised.value.code == "P401"
    assert made.waiting == []


def test_calls_draw_on_the_account(bench, finish):
    made = bench([{"text": "a", "tokens_in": 3, "tokens_out": 4}], CONNECTION, pricing=PRICES)
    made.pool["box"].free_and_instant = False
    made.services.account = account(tokens=100, cost=100.0)
    settings = call_settings("M", {"base": "m", "max_tokens": 10}, {}, made.connections["box"])
    assert finish(execute(made.services, settings, "abcd", run_id="1")).cost == 11.0
    assert (made.services.account.used_tokens, made.services.account.used_cost) == (7, 11.0)
    assert (made.metrics.estimated_cost, made.metrics.total_tokens) == (11.0, 7)
