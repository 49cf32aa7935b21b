"""Of every built-in of the table a program that calls it on and on can be drawn (the campaign of large values, G-2.7)."""

from __future__ import annotations

import random

import concerto
import pytest

from . import campaign_builtins as campaign
from .campaign import fresh_seed

DRAWS = 200
STEPS = 500


def goes_on(drawn: campaign.Case) -> bool:
    """Whether nothing but a limit ends the loop."""
    budgets = concerto.Budgets(steps=STEPS, seconds=1)
    with campaign.session_in(concerto.compile(drawn.source), drawn.tier, budgets) as session:
        error = session.run().error
    return isinstance(error, concerto.Panic) and error.code in ("P101", "P102")


def test_each_row_is_drawn_and_loops() -> None:
    seed = fresh_seed()
    print(f"seed {seed}")
    draw = random.Random(seed)
    ended = []
    for row in campaign.rows():
        if not any(goes_on(campaign.fitting(draw, row, campaign.TINY)) for _ in range(DRAWS)):
            ended.append(row)
    assert ended == []


def test_each_row_is_drawn_or_has_its_reason() -> None:
    drawn = campaign.rows()
    for row in campaign.every_row():
        left_out = row.kind not in campaign.KINDS or row.receiver in campaign.UNDRAWN or campaign.called(row) in campaign.ENDING
        assert left_out or row in drawn
    receivers = {row.receiver for row in campaign.every_row() if row.kind in campaign.KINDS}
    assert receivers - {""} - set(campaign.UNDRAWN) <= set(campaign.RECEIVERS) | {row.receiver for row in drawn}
    names = {campaign.called(row) for row in campaign.every_row()}
    assert set(campaign.UNDRAWN) <= receivers and set(campaign.ENDING) <= names


def test_a_type_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="no value for the type"):
        campaign.texts_of("x", ("struct", "Unheard"))
    with pytest.raises(KeyError, match="no value for the type"):
        campaign.texts_of("x", ("array", ("struct", "Unheard")))
