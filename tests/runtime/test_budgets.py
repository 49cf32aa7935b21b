"""Budgets of tokens and cost: reservations, who waits, what is settled (O-1.133, G-6.4)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from concerto.runtime.calls.budgets import PANICS, Account, Asker, BudgetSpent, Purse
from concerto.runtime.calls.call import execute
from concerto.runtime.calls.settings import call_settings
from concerto.runtime.calls.usage import REPLY_TOKENS, ReplyProgress, Use, prompt_tokens, used_by_broken, used_by_reply
from concerto.runtime.errors import CallFailure
from concerto.runtime.records import EmbedRequest, Msg, Reply, Request, SchemaField, ToolDef

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


def chunked(most=10):
    """A request whose reply comes in chunks: its task holds the reservation until it has read on."""
    return request(params={"max_tokens": most}, stream=True)


def account(tokens=None, cost=None, model_calls=None):
    return Purse([Account(tokens, cost, model_calls)], PRICES, Turn)


def unpriced(tokens=None, cost=None, prices=None):
    return Purse([Account(tokens, cost)], prices or {}, Turn)


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
        ({"tokens": 4 + REPLY_TOKENS}, {}, "Tokens"),
        ({"tokens": 15}, {"max_tokens": 10}, None),
        ({"cost": 25.0}, {"max_tokens": 10}, None),
        ({"cost": 24.9}, {"max_tokens": 10}, "Cost"),
        ({"tokens": 1, "cost": 1.0}, {"max_tokens": 10}, "Tokens"),
    ],
)
def test_a_request_beyond_a_limit_is_an_error(finish, limits, params, code):
    made = account(**limits)
    if code is None:
        finish(made.reserve(request(params=params), False))
        return
    with pytest.raises(BudgetSpent) as raised:
        finish(made.reserve(request(params=params), False))
    assert (raised.value.kind, raised.value.variant) == ("BudgetError", code)
    assert "`max_tokens`" in raised.value.message  # what to do about it
    assert raised.value.panic().code == PANICS[code]  # where no Result carries it
    assert not made.accounts[0].open


def test_an_unpriced_model_under_a_budget_of_cost(finish):
    made = unpriced(cost=1.0)
    with pytest.raises(BudgetSpent) as raised:
        finish(made.reserve(request(), False))
    assert raised.value.variant == "Unpriced"
    assert '`[pricing."m"]` of Concerto.toml' in raised.value.message and "option `pricing`" in raised.value.message
    finish(made.reserve(request(), True))  # what costs nothing needs no price
    finish(unpriced(10_000).reserve(request(), False))


def test_a_reservation_is_the_dearest_of_what_caches_cost(finish):
    """O-1.136: all of the prompt may be written to a cache; where the program names no price, a published one counts."""
    row = {"input_per_million": 1.0, "output_per_million": 0.0, "cached": 0.1, "cache_write": 2.0}
    assert finish(unpriced(None, 1.0, {"m": row}).reserve(request(), False)).cost == 5 * 2.0 / 1_000_000
    published = unpriced(None, 1.0)
    listed = finish(published.reserve(request(), False, None, lambda *tokens: tokens[0] / 100 + tokens[3] / 50))
    assert listed.cost == pytest.approx(5 / 100 + 5 / 50)


def broken(failure=None, *, begun=True, texts=(), told=(None, None, 0, 0, 0), told_at=0, whole=False):
    asked = request(params={"max_tokens": 10})
    progress = asked.progress = ReplyProgress()
    progress.has_left, progress.texts, progress.reported = begun, list(texts), told
    progress.texts_at_report, progress.is_final = told_at, whole
    use = used_by_broken(asked, failure)
    return use.attempts, use.tokens_in, use.tokens_out, use.tokens_estimated


TIMEOUT = CallFailure("TimeoutError", None, "late")
TOLD = (7, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"failure": CallFailure("AgentError", "RateLimited", "no", status=429)}, (1, 0, 0, 0)),
        ({"failure": TIMEOUT, "begun": False}, (1, 0, 0, 0)),  # there was no connection
        ({"failure": TIMEOUT}, (1, 5, 10, 15)),  # how long it would have become nobody knows
        ({}, (1, 5, 10, 15)),  # nor when it was cancelled
        ({"texts": ["abcd", "efgh"]}, (1, 5, 6, 11)),
        ({"told": TOLD}, (1, 7, 10, 10)),  # the number at the beginning of a stream is none of its end
        ({"told": TOLD, "texts": ["abcd", "efgh"]}, (1, 7, 6, 6)),
        ({"told": (7, 9, 0, 0, 0), "texts": ["abcd"]}, (1, 7, 9, 9)),
        ({"told": TOLD, "texts": ["abcd"], "told_at": 1}, (1, 7, 1, 0)),
        ({"told": TOLD, "whole": True}, (1, 7, 1, 0)),  # a reply that nobody could read
    ],
)
def test_what_a_broken_request_has_used(given, used):
    assert broken(**given) == used


def test_what_a_reply_does_not_report_is_counted_everywhere():
    """G-9.7"""
    use = used_by_reply(request(), Reply("abcd", reports=(False, False)))
    assert (use.tokens_in, use.tokens_out, use.tokens_estimated) == (5, 5, 10)


def test_settling_gives_back_what_was_not_used(finish):
    made = account(tokens=100, cost=100.0, model_calls=2)
    held = finish(made.reserve(request(params={"max_tokens": 10}), False))
    assert made.left() == [85, 75.0, 1]
    made.settle(Use(1, 1, 2).set_price(0.5), held)
    assert made.left() == [97, 99.5, 1] and not made.accounts[0].open
    made.settle(None, finish(made.reserve(request(params={"max_tokens": 10}), False)))  # never sent
    assert made.left() == [97, 99.5, 1]


def test_a_request_draws_on_every_account_or_on_none(finish):
    one, other = Account(tokens=1000), Account(tokens=25)
    purse, beside = Purse([one, other], PRICES, Turn), Purse([Account(), other], PRICES, Turn)
    held = finish(purse.reserve(request(params={"max_tokens": 10}), False, Asker("a")))
    assert (purse.left()[0], beside.left()[0]) == (10, 10)
    waits = beside.reserve(request(params={"max_tokens": 10}), False, Asker("a"))
    waits.send(None)  # the task of the same name of another session may give back
    purse.settle(Use(1, 3, 4), held)
    with pytest.raises(StopIteration):
        waits.send(None)
    assert one.left()[0] == 993 and other.used[0] == 7


def test_tasks_that_wait_for_each_other_do_not_wait_for_ever(finish):
    """Each holds a reply on its way and asks again: the last one learns that there is no room."""
    made = account(tokens=30)
    for owner in "ab":
        finish(made.reserve(chunked(), False, Asker(owner)))
    first = made.reserve(request(params={"max_tokens": 10}), False, Asker("a"))
    first.send(None)
    with pytest.raises(BudgetSpent):
        finish(made.reserve(request(params={"max_tokens": 10}), False, Asker("b")))
    first.close()


def test_a_request_waits_while_others_hold_a_reservation(finish):
    made = account(tokens=20)
    first = finish(made.reserve(request(params={"max_tokens": 10}), False, Asker("a")))
    second = made.reserve(chunked(), False, Asker("b"))
    waits = second.send(None)
    assert not waits.done()
    made.settle(Use(1, 1, 1), first)
    with pytest.raises(StopIteration) as stop:
        second.send(None)
    assert list(made.accounts[0].open) == [stop.value.value]
    with pytest.raises(BudgetSpent):  # its own reservation nobody gives back meanwhile
        finish(made.reserve(request(params={"max_tokens": 10}), False, Asker("b")))


class Tasks:
    """Who waits for whom, as a machine would say it: tests put lists of tasks into `awaited`, those of a race into `races`."""

    def __init__(self, *accounts):
        self.awaited = {}
        self.races = set()
        self.accounts = accounts
        self.purse = Purse(accounts, PRICES, Turn, lambda tasks: self.waits())

    def waits(self):
        return {task: (others, task in self.races) for task, others in self.awaited.items()}

    def asks(self, task, most=10):
        return self.purse.reserve(request(params={"max_tokens": most}), False, Asker(task))


def begun(waits):
    """Start a request that has to wait, and return it."""
    assert not waits.send(None).done()
    return waits


def fails(waits):
    with pytest.raises(BudgetSpent) as raised:
        waits.send(None)
    return raised.value


def test_a_child_does_not_wait_for_the_stream_of_the_task_that_awaits_it(finish):
    run = Tasks(Account(tokens=20))
    finish(run.purse.reserve(chunked(), False, Asker("parent")))
    run.awaited = {"parent": ["child"], "child": ["grandchild"]}
    fails(run.asks("grandchild"))
    assert run.accounts[0].waiting == {}


def test_who_waits_for_a_stream_fails_when_its_reader_comes_to_wait_for_him(finish):
    """The parent reads on while its child waits; nothing is asked for when it awaits the child."""
    run = Tasks(Account(tokens=20))
    finish(run.purse.reserve(chunked(), False, Asker("parent")))
    waits = begun(run.asks("child"))
    run.purse.look()
    assert [turn.is_woken for turn in run.accounts[0].waiting] == [False]
    run.awaited = {"parent": ["child"]}
    run.purse.look()
    fails(waits)


def test_of_those_who_wait_for_each_other_the_newest_fails(finish):
    run = Tasks(Account(tokens=35))
    for task in "ab":
        finish(run.purse.reserve(chunked(), False, Asker(task)))
    first, second = begun(run.asks("a")), begun(run.asks("child of b"))
    run.awaited = {"b": ["child of b"]}
    run.purse.look()
    assert [turn.reservation.asker.task for turn in run.accounts[0].waiting] == ["a"]
    fails(second)
    first.close()


def test_a_race_waits_for_the_first_alone(finish):
    run = Tasks(Account(tokens=20))
    finish(run.purse.reserve(chunked(), False, Asker("parent")))
    run.awaited, run.races = {"parent": ["child", "other"]}, {"parent"}
    waits = begun(run.asks("child"))
    run.awaited["other"] = ["child"]
    run.purse.look()
    fails(waits)


def test_tasks_that_wait_for_each_other_in_two_accounts(finish):
    run = Tasks(Account(tokens=40), Account(cost=60.0))
    for task in "ab":
        finish(run.purse.reserve(chunked(), False, Asker(task)))
    first = begun(run.asks("a", 20))
    assert fails(run.asks("b", 5)).variant == "Cost"
    first.close()


def test_a_task_may_wait_for_one_that_waits_for_others(finish):
    """No circle: what is on its way comes back, and then the reader of the stream goes on."""
    run = Tasks(Account(tokens=40), Account(tokens=35))
    finish(run.purse.reserve(chunked(), False, Asker("a")))
    plain = finish(run.asks("b"))
    first, second = begun(run.asks("a")), begun(run.asks("c"))
    run.purse.settle(Use(1, 0, 1), plain)
    with pytest.raises(StopIteration):
        first.send(None)
    begun(second)  # of the two that "a" holds one comes back by itself
    second.close()


def test_who_is_woken_counts_no_more_as_waiting(finish):
    run = Tasks(Account(tokens=45))
    finish(run.purse.reserve(chunked(), False, Asker("a")))
    plain = finish(run.asks("b"))
    first = begun(run.asks("a", 15))
    run.purse.settle(Use(1, 5, 0), plain)  # now there is room for "a", which has not looked yet
    second = begun(run.asks("c", 21))
    with pytest.raises(StopIteration):
        first.send(None)
    second.close()


def test_what_is_left_is_what_could_be_reserved(finish):
    run = Tasks(Account(tokens=40))
    finish(run.purse.reserve(chunked(), False, Asker("a")))
    failure = fails(run.asks("a", 30))
    assert failure.fields["left"] == 25 and "25 of 40 are left" in failure.message


def test_vectors_wait_for_other_tasks_and_not_for_their_own(finish):
    asked = EmbedRequest("box", "m", ["abcd"], None)
    run = Tasks(Account(tokens=20))
    finish(run.purse.reserve_vectors(asked, 15, False, "a"))
    begun(run.purse.reserve_vectors(asked, 15, False, "b")).close()
    begun(run.purse.reserve_vectors(asked, 15, False, "a")).close()  # it comes back by itself
    held = Tasks(Account(tokens=20))
    finish(held.purse.reserve(chunked(), False, Asker("a")))
    fails(held.purse.reserve_vectors(asked, 15, False, "a"))


def test_sessions_of_two_threads_that_wait_for_each_other(finish):
    """Only the thread of a session can say what its tasks wait for: it is asked to, and ends what waits for ever."""
    shared, errands, awaited = Account(tokens=40), {"here": [], "there": []}, {}

    def purse(name):
        return Purse([shared], PRICES, Turn, lambda tasks: dict(awaited), errands[name].append)

    with ThreadPoolExecutor(1) as pool:

        def in_other_thread(work):
            return pool.submit(work).result()

        here, there = purse("here"), in_other_thread(lambda: purse("there"))
        finish(here.reserve(chunked(), False, Asker("a")))
        in_other_thread(lambda: finish(there.reserve(chunked(), False, Asker("b"))))
        waits = in_other_thread(lambda: begun(there.reserve(chunked(), False, Asker("child of b"))))
        awaited["b"] = ["child of b"], False
        mine = begun(here.reserve(chunked(), False, Asker("a")))  # what "b" waits for is not known in this thread
        for errand in errands["there"]:
            in_other_thread(errand)
        for errand in errands["here"]:
            errand()
        fails(mine)
        waits.close()


@pytest.mark.parametrize("is_chunked", [False, True])
def test_many_requests_wait_without_looking_in_vain(finish, is_chunked):
    """Whoever gives back wakes as many as there is room for, and asks for whom tasks wait no more often than requests come."""
    asked = []
    shared = Account(tokens=40)
    purse = Purse([Account(model_calls=10_000), shared], PRICES, Turn, lambda tasks: asked.append(len(tasks)) or {})
    one = chunked() if is_chunked else request(params={"max_tokens": 10})
    held = [finish(purse.reserve(one, False, Asker(f"first {number}"))) for number in range(2)]
    waits = [purse.reserve(one, False, Asker(str(number))) for number in range(200)]
    turns = [waiting.send(None) for waiting in waits]
    for at in range(0, 200, 2):
        for reservation in held:
            purse.settle(Use(1, 0, 0), reservation)
        assert [turn.done() for turn in turns] == [True] * (at + 2) + [False] * (198 - at)
        held = []
        for waiting in waits[at : at + 2]:
            with pytest.raises(StopIteration) as stop:
                waiting.send(None)
            held.append(stop.value.value)
    assert asked == ([1] * 200 if is_chunked else []) and len(shared.open) == 2


def test_room_that_a_woken_request_does_not_take_goes_to_the_next(finish):
    made = account(tokens=35)
    first, second = (finish(made.reserve(request(params={"max_tokens": most}), False)) for most in (10, 10))
    cancelled, small, big = (begun(made.reserve(request(params={"max_tokens": most}), False)) for most in (10, 5, 20))
    made.settle(Use(1, 0, 0), first)  # 20 are left
    cancelled.close()
    with pytest.raises(StopIteration) as stop:
        small.send(None)
    made.settle(Use(1, 0, 0), second)
    with pytest.raises(StopIteration):
        big.send(None)
    made.settle(None, stop.value.value)
    assert made.left() == [10, None, None] and not made.accounts[0].coming


def test_no_error_of_rounding_stays(finish):
    made = unpriced(None, 1.0, {"m": {"input_per_million": 0.0, "output_per_million": 100_000.0}})
    held = [finish(made.reserve(request(params={"max_tokens": most}), False)) for most in (1, 2, 3)]
    for reservation in held:
        made.settle(None, reservation)
    assert made.left() == [None, 1.0, None] and made.accounts[0].open.amounts == (0, 0.0, 0)


def test_vectors_have_no_reply_to_make_shorter(finish):
    with pytest.raises(BudgetSpent) as raised:
        finish(account(tokens=2).reserve_vectors(EmbedRequest("box", "m", ["abcd"], None), 3, False))
    assert raised.value.message.endswith("(budget `tokens`); raise the budget")


def test_who_still_finds_no_room_fails_when_nothing_is_open(finish):
    made = account(tokens=20)
    first = finish(made.reserve(request(params={"max_tokens": 10}), False, Asker("a")))
    second = made.reserve(request(params={"max_tokens": 10}), False, Asker("b"))
    second.send(None)
    made.settle(Use(1, 5, 10), first)
    with pytest.raises(BudgetSpent) as raised:
        second.send(None)
    assert raised.value.variant == "Tokens"
    assert made.accounts[0].waiting == {}


def test_calls_draw_on_the_account(bench, finish):
    made = bench([{"text": "a", "tokens_in": 3, "tokens_out": 4}], CONNECTION, pricing=PRICES)
    made.pool["box"].free_and_instant = False
    made.services.purse = account(tokens=100, cost=100.0)
    settings = call_settings("M", {"base": "m", "max_tokens": 10}, {}, made.connections["box"])
    assert finish(execute(made.services, settings, "abcd", run_id="1")).cost == 11.0
    assert made.services.purse.accounts[0].used == [7, 11.0, 1]
    assert (made.metrics.estimated_cost, made.metrics.total_tokens) == (11.0, 7)


@pytest.mark.parametrize(("variant", "code"), [("Tokens", "P401"), ("Cost", "P402"), ("Unpriced", "P403")])
def test_where_no_result_carries_it_a_spent_budget_is_a_panic(variant, code):
    panic = BudgetSpent(variant, "the budget is spent", "m").panic()
    assert (panic.code, panic.message) == (code, "the budget is spent")


def test_vectors_of_an_unpriced_model_under_a_budget_of_cost(finish):
    asked = EmbedRequest("box", "m", ["abcd"], None)
    with pytest.raises(BudgetSpent) as raised:
        finish(unpriced(cost=1.0).reserve_vectors(asked, 3, False))
    assert raised.value.variant == "Unpriced"
    assert finish(unpriced(cost=1.0).reserve_vectors(asked, 3, True)).amounts == (3, 0.0, 0)
    assert finish(unpriced(10).reserve_vectors(asked, 3, False)).amounts == (3, 0.0, 0)
    assert finish(account(cost=9.0).reserve_vectors(asked, 3, False)).amounts == (3, 3.0, 0)
