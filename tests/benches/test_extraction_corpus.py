"""The corpus of replies: ours gives no wrong value and reads what has one reading; the corpus is what it says it is."""

from collections import Counter
from functools import cache
from xml.etree import ElementTree

from concerto.runtime.schema.validation import Accepted, validate

from benches.extraction import chart, corpus
from benches.extraction.__main__ import counts
from benches.extraction.readers import equal, ours, plain


@cache
def found():
    return counts(corpus.rows(), ours)


def test_no_value_is_wrong():
    assert {cls: wrong for cls, (_, _, wrong) in found().items()} == dict.fromkeys(corpus.CLASSES, 0)


def test_what_has_one_reading_is_read():
    right, refused, _ = found()["A"]
    assert right >= 0.95 * (right + refused)


def test_rows_are_many_and_each_stands_once():
    rows = corpus.rows()
    assert len(rows) >= 600 and min(Counter(row.cls for row in rows).values()) >= 50
    assert len({row.id for row in rows}) == len(rows) == len({(row.schema, row.reply) for row in rows})


def test_values_are_of_their_schemas():
    for row in corpus.rows():
        assert (row.value is None) == (row.cls not in "AB")
        if row.value is not None:
            outcome = validate(corpus.schemas()[row.schema].shape, row.value)
            assert isinstance(outcome, Accepted) and equal(plain(outcome.tree), row.value), row.id


def test_rows_by_construction_are_as_constructed():
    assert corpus.read_rows("rendered.jsonl") == corpus.rendered()
    assert corpus.read_rows("cut.jsonl") == corpus.cut()


def test_the_chart_shows_every_count():
    texts = [element.text for element in ElementTree.fromstring(chart.svg({"Concerto": found()})).iter() if element.text]
    assert {"/".join(map(str, three)) for three in found().values()} <= set(texts)
