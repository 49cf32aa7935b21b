"""Transport retries: delays, classes, Retry-After (O-1.45 to O-1.54, G-15)."""

import time
from email.utils import formatdate

import pytest
from concerto.runtime.calls.retry import RetryPolicy
from concerto.runtime.errors import CallFailure, Origin
from concerto.runtime.providers.sdk import retry_after_ms
from concerto.vm.declaration_fields import RETRY_CLASSES
from hypothesis import given
from hypothesis import strategies as st

LIMITED = CallFailure("AgentError", "RateLimited", "slow down", "rate_limit")


def test_defaults():
    policy = RetryPolicy()
    assert policy.max_attempts == 3
    assert policy.retry_on == RETRY_CLASSES
    assert [policy.delay_ms(k) for k in range(1, 8)] == [500, 1000, 2000, 4000, 8000, 8000, 8000]


@pytest.mark.parametrize(
    ("backoff", "delays"), [("none", [0, 0, 0]), ("linear", [100, 200, 300]), ("exponential", [100, 200, 400])]
)
def test_backoff(backoff, delays):
    policy = RetryPolicy.from_decorator({"max": 5, "backoff": backoff, "delay_ms": 100})
    assert [policy.delay_ms(k) for k in (1, 2, 3)] == delays


@given(st.floats(0, 0.999_999), st.integers(1, 9))
def test_jitter_shortens_by_less_than_a_quarter(chance, attempt):
    policy = RetryPolicy(max_attempts=10)
    delay = policy.delay_ms(attempt)
    assert 0.75 * delay < policy.wait_ms(LIMITED, attempt, lambda: chance) <= delay


def test_the_last_attempt_is_not_retried():
    policy = RetryPolicy.from_object({"max_attempts": 2})
    assert policy.wait_ms(LIMITED, 1, lambda: 0.0) == 500
    assert policy.wait_ms(LIMITED, 2, lambda: 0.0) is None


def test_only_listed_classes_are_retried():
    policy = RetryPolicy(retry_on=["server"])
    assert policy.wait_ms(LIMITED, 1, lambda: 0.0) is None
    refused = CallFailure("AgentError", "InvalidRequest", "no")
    assert RetryPolicy().wait_ms(refused, 1, lambda: 0.0) is None


@pytest.mark.parametrize(("asked", "waited"), [(0, 0), (7000, 7000), (120_000, 120_000), (120_001, None)])
def test_the_server_may_ask_for_up_to_two_minutes(asked, waited):
    failure = CallFailure("AgentError", "RateLimited", "m", "rate_limit", retry_after_ms=asked)
    assert RetryPolicy().wait_ms(failure, 1, lambda: 0.9) == waited


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "250", "retry-after": "9"}, 250),
        ({"retry-after": "3"}, 3000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2000),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_order(headers, expected):
    assert retry_after_ms(headers, 0.0) == expected


def test_retry_after_as_a_date():
    now = float(int(time.time()))
    assert retry_after_ms({"retry-after": formatdate(now + 10, usegmt=True)}, now) == 10_000
    assert retry_after_ms({"retry-after": formatdate(now - 10, usegmt=True)}, now) is None


@pytest.mark.parametrize(
    ("status", "kind", "variant", "retry_class"),
    [
        (400, "AgentError", "InvalidRequest", None),
        (401, "ConnectionError", "AuthenticationFailed", None),
        (403, "ConnectionError", "AuthenticationFailed", None),
        (404, "AgentError", "ModelNotFound", None),
        (408, "TimeoutError", None, "timeout"),
        (422, "AgentError", "InvalidRequest", None),
        (429, "AgentError", "RateLimited", "rate_limit"),
        (500, "ConnectionError", "ProviderUnavailable", "server"),
        (529, "ConnectionError", "ProviderUnavailable", "server"),
    ],
)
def test_every_status_has_its_error(status, kind, variant, retry_class):
    failure = Origin("m-1", "lab", 60).of_status(status, "no")
    assert (failure.kind, failure.variant, failure.retry_class) == (kind, variant, retry_class)
    assert failure.fields["status"] == status
    assert failure.fields["model"] == "m-1" and failure.fields["provider"] == "lab"
    assert ("timeout_seconds" in failure.fields) == (kind == "TimeoutError")
    assert ("connection" in failure.fields) == (kind == "ConnectionError")


def test_the_message_is_cut():
    failure = Origin("m", "lab", 60).of_status(500, "x" * 5000)
    assert failure.message == "m: " + "x" * 1999 + "…"
    assert failure.exhausted(3).message.endswith("x… (3 attempts)")
