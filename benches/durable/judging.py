"""What was asked twice, by histories of runs.

Hands on `judged` and `history_of`. A request that came again had been, when the process died that sent it first,

- `in flight`: it was not answered yet;
- `answered`: it was answered, and nothing shows that the process had gone on;
- `gone on`: the process had gone on to the next request, or the person had been asked. No durable run may repeat such a one;
- `no kill`: nothing had died in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from .kills import History
from .server import Call

STATES = ("in flight", "answered", "gone on", "no kill")
LAST = "send"


def judged(histories: Sequence[History]) -> dict[str, Any]:
    """Count kills, runs, wrong results, requests of the model that came again by their state, charges that were begun again by
    theirs, how often a look at the bank prevented one (`found`), and how many were made too many (`double_charges`)."""
    model, bank = dict.fromkeys(STATES, 0), dict.fromkeys(STATES, 0)
    for history in histories:
        for at, call in enumerate(history.calls):
            what = "charge" if call.found else call.what  # a look that found the charge stands in the place of another one
            before = [earlier for earlier in history.calls[:at] if earlier.what == what]
            if before and what != "look":
                (bank if what == "charge" else model)[state(history, before[-1], call)] += 1
    waited = sorted(seconds for history in histories for seconds in history.waited)
    return {
        "kills": sum(len(history.deaths) for history in histories),
        "runs": len(histories),
        "wrong": sum(not history.is_right for history in histories),
        "model": model,
        "bank": bank,
        "double_charges": sum(max(sum(call.what == "charge" for call in history.calls) - 1, 0) for history in histories),
        "found": sum(call.found for history in histories for call in history.calls),
        "crashes": sum(len(history.crashes) for history in histories),
        "waited": {"least": waited[0], "median": median(waited), "most": waited[-1]} if waited else None,
    }


def history_of(plain: dict[str, Any]) -> History:
    """The history that `dataclasses.asdict` made this of."""
    calls = [Call(**call) for call in plain["calls"]]
    deaths = [(moment, approved) for moment, approved in plain["deaths"]]
    return History(**{**plain, "calls": calls, "deaths": deaths})


def state(history: History, earlier: Call, later: Call) -> str:
    """What had become of a request when the process died that had sent it."""
    death = next((death for death in history.deaths if earlier.came <= death[0] <= later.came), None)
    if death is None:
        return "no kill"
    died, approved = death
    if earlier.answered is None or earlier.answered > died:
        return "in flight"
    went_on = any(earlier.came < call.came <= died and call.what not in (earlier.what, "look") for call in history.calls)
    return "gone on" if went_on or (approved and earlier.what != LAST) else "answered"
