"""Circuit breakers (O-1.236): the rule against a plain model of it, over random requests that overlap."""

from __future__ import annotations

import random
import threading

from concerto.runtime.breaker import Breaker, Breakers
from concerto.runtime.connections import resolve_all


def test_laws_over_random_schedules():
    """At most one request is on its way from an open breaker; nothing gets through before its time; a closed one lets all
    through; what has failed `most` times in a row is not closed."""
    for seed in range(200):
        chance = random.Random(seed)
        most, seconds = chance.randint(1, 4), chance.choice([1.0, 5.0])
        breaker, now = Breaker(most, seconds), 0.0
        under_way: dict[object, bool] = {}  # by request: whether it is a trial
        opened, row = None, 0
        for _ in range(200):
            now += chance.choice([0.0, 0.125, 1.0])
            if chance.random() < 0.5 or not under_way:
                request = object()
                left = breaker.enter(request, now)
                if opened is None:
                    assert left is None
                elif now < opened + seconds:
                    assert left is not None and 0 < left <= seconds
                else:
                    assert (left is None) is not any(under_way.values())
                if left is None:
                    under_way[request] = opened is not None
                continue
            request = chance.choice(list(under_way))
            was_trial = under_way.pop(request)
            end = chance.choice(["failed", "failed", "answered", "dropped"])
            if end == "failed":
                breaker.failed(request, now)
                row += 1
                opened = now if was_trial or (opened is None and row >= most) else opened
            elif end == "dropped":
                breaker.dropped(request)
            else:
                breaker.answered()
                opened, row = None, 0
                under_way = dict.fromkeys(under_way, False)
            assert breaker.state(now)[1] == row
            assert (breaker.state(now)[0] == "closed") is (opened is None)


def test_threads_share_one():
    fields = {"provider": "openai", "breaker": {"failures": 1000, "seconds": 60}}
    breakers = Breakers()

    def work() -> None:
        breaker = breakers.of(resolve_all([{"lab": fields}])["lab"])
        assert breaker is not None
        for _ in range(100):
            breaker.failed(object(), 0.0)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert breakers.states(resolve_all([{"lab": fields}]), 1.0) == {"lab": ("open", 1000, 59.0)}


def test_what_is_one_endpoint():
    """Name, provider, address and limits make it; a connection without the field has none."""
    base = {"provider": "openai", "breaker": {}}
    breakers = Breakers()

    def of(name: str = "lab", **fields: object) -> Breaker | None:
        return breakers.of(resolve_all([{name: {**base, **fields}}])[name])

    assert of() is of()
    assert of(api_key="other") is of()
    others = [of("lab2"), of(base_url="https://b.example/v1"), of(breaker={"failures": 2}), of(breaker={"seconds": 31})]
    assert len({id(breaker) for breaker in [of(), *others]}) == 5
    assert of(breaker=None) is None
    one = of()
    assert one is not None and (one.most, one.seconds) == (5, 30.0)
