"""Vectors beside facts (M-10.10, M-10.16): what an embedder gives, what it is when it fails, where vectors stand."""

import asyncio
from array import array

import pytest
from concerto.runtime.memory.embedding import Embedding, packed, similarity
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.remembering import Facts
from concerto.runtime.memory.vectors import embed_pending, offline_vectors, pending

KEY = ("", "m", "")
WAYS = {"sun": [1.0, 0.0, 0.0], "star": [0.8, 0.6, 0.0], "rock": [0.0, 0.0, 1.0]}


class Embedder:
    """Knows a few words; `fails` raises, and so does a text with poison in it."""

    def __init__(self, label="e"):
        self.asked = []
        self.fails = False
        self.told = []
        self.embedding = Embedding(label, self.ask, self.told.append)

    async def ask(self, texts, task):
        self.asked.append(list(texts))
        if self.fails or any("poison" in text for text in texts):
            raise OSError("no line")
        return [WAYS[next(word for word in WAYS if word in text)] for text in texts]


def remember(memory, name, content, **given):
    facts = Facts(memory)
    fact = facts.drafted(name, content, **given)
    asyncio.run(memory.embedding.fill([fact.text]))
    facts.keep(fact)


def recall(memory, query, **given):
    asyncio.run(memory.embedding.fill([query]))
    facts = Facts(memory)
    found = facts.recall(query, 10, touch=False, **given)
    return {hit.fact.name: round(hit.relevance, 6) for hit in found}, facts.degraded


def memory_of(store, embedder, key=KEY):
    from concerto.runtime.memory.stores.volatile import VolatileStore

    session = VolatileStore()
    return Memory(Policy(), name="m", store=store, key=key, clock=lambda: 1_000.0, session=session, embedding=embedder.embedding)


def test_near_vectors_are_hits_without_a_word_in_common(store):
    """M-10.10: clamp((cos − b)/(1 − b), 0, 1), of persistent facts only."""
    memory = memory_of(store, Embedder())
    remember(memory, "x", "a star")
    remember(memory, "y", "some rock")
    remember(memory, "z", "another star", tier="session")
    assert recall(memory, "sun") == ({"x": 0.75}, False)


def test_vectors_stand_in_the_store(open_store):
    """M-10.16: another session asks for the query alone; a change of the text makes another vector."""
    remember(memory_of(open_store(), Embedder()), "x", "star")
    later = Embedder()
    memory = memory_of(open_store.again() if open_store.kind != "volatile" else open_store.opened[0], later)
    assert recall(memory, "sun")[0] == {"x": 0.75}
    assert later.asked == [["sun"]]
    remember(memory, "x", "rock")
    assert recall(memory, "sun")[0] == {}
    Facts(memory).confirm("x")
    assert recall(memory, "rock")[0]["x"] == 1.0
    assert "vector" not in memory.dump()


def test_a_failing_embedder_costs_only_the_vectors(store):
    """M-10.16: stored without, ranked without, embedded by a later commit; the reason is reported once."""
    embedder = Embedder()
    memory = memory_of(store, embedder)
    heard = []
    memory.listen(lambda channel, payload: heard.append((channel, payload["ids"], payload["degraded"])))
    embedder.fails = True
    remember(memory, "x", "star")
    remember(memory, "y", "star")
    assert recall(memory, "star")[1] is True
    Facts(memory).recall("sun", 10)
    assert heard == [("memory:recall", [], True)]
    assert embedder.told == ["the embedder e failed: no line; recall does without it"]
    embedder.fails = False
    asyncio.run(embed_pending(memory))
    assert recall(memory, "sun") == ({"x": 0.75, "y": 0.75}, False)
    asked = len(embedder.asked)
    asyncio.run(embed_pending(memory))
    assert len(embedder.asked) == asked


def has_vector(memory, name):
    return any(fact.name == name and memory.embedding.has_vector(fact) for fact in memory.stored_facts())


def test_a_text_that_is_refused_holds_no_other_back(store):
    memory = memory_of(store, Embedder())
    remember(memory, "x", "poison")
    facts = Facts(memory)
    fact = facts.drafted("y", "star")
    asyncio.run(memory.embedding.fill([fact.text, *(one.text for one in pending(memory))]))
    facts.keep(fact)
    assert has_vector(memory, "y") and not has_vector(memory, "x")


@pytest.mark.parametrize("refused", [1, 3, 70])
def test_every_other_fact_gets_its_vector_in_the_end(store, refused):
    """However many texts are refused, and wherever they stand."""
    embedder = Embedder()
    memory = memory_of(store, embedder)
    embedder.fails = True
    for number in range(100):
        remember(memory, f"f{number}", f"poison {number}" if number % 100 < refused else f"star {number}")
    embedder.fails = False
    for _ in range(80):
        asyncio.run(embed_pending(memory))
    assert [fact.name for fact in memory.stored_facts() if not memory.embedding.has_vector(fact)] == [
        f"f{number}" for number in range(refused)
    ]


def test_what_was_missed_while_the_embedder_was_away_takes_few_requests(store):
    embedder = Embedder()
    memory = memory_of(store, embedder)
    embedder.fails = True
    for number in range(60):
        remember(memory, f"f{number}", f"star {number}")
    embedder.fails, embedder.asked = False, []
    asyncio.run(embed_pending(memory))
    assert list(map(len, embedder.asked)) == [1, 2, 4, 8, 16, 16, 13]
    assert not pending(memory)


def test_vectors_of_another_model_are_none(store):
    """M-10.16: they would be compared with what they have nothing to do with."""
    remember(memory_of(store, Embedder("old")), "x", "star")
    memory = memory_of(store, Embedder("new"))
    assert recall(memory, "sun")[0] == {}
    asyncio.run(embed_pending(memory))
    assert recall(memory, "sun")[0] == {"x": 0.75}


@pytest.mark.parametrize("answer", [[], [[1.0], [2.0]], [[0.0, 0.0]], [["a"]], [[float("nan")]], [None]])
def test_an_answer_that_is_none_is_a_failure(answer):
    told = []

    async def ask(texts, task):
        return answer

    embedding = Embedding("e", ask, told.append)
    asyncio.run(embedding.fill(["a"]))
    assert embedding.known("a") is None
    assert len(told) == 1


def test_offline_vectors_are_the_same_everywhere():
    """M-10.16: a function of the text, near for texts that share words or parts of them."""
    tea, teas, rock, again = (packed(v) for v in offline_vectors(["green tea", "greens and teas", "granite", "green tea"]))
    assert tea == again
    assert similarity(tea, tea) == pytest.approx(1)
    assert similarity(tea, teas) > 0.3 > abs(similarity(tea, rock))
    assert [round(part, 4) for part in array("f", packed(offline_vectors(["a"])[0])) if part] == [1.0]
    assert offline_vectors([""])[0] != [0.0] * 256
