"""Recall as M-10.9 to M-10.12 and M-10.18 say it: every fact is looked at, nothing is kept from one query to the next."""

from __future__ import annotations

import math
from collections import Counter

from concerto.runtime.memory.fact_index import entities, trigrams
from concerto.runtime.memory.terms import terms

DAY = 86_400_000


def plainly(held, query, now, decay=None, place=lambda fact: fact.id):
    """Hits in order: the key of M-10.12 with the fact. `place`: which of two equal ones is first."""
    asked = set(terms(query))
    if not held or not asked:
        return []
    tokens = [(fact, Counter(terms(fact.text))) for fact in held]
    average = sum(sum(found.values()) for _, found in tokens) / len(held) or 1.0
    idf = {}
    for token in asked:
        having = sum(token in found for _, found in tokens)
        idf[token] = math.log(1 + (len(held) - having + 0.5) / (having + 0.5))
    graph = activation([fact for fact in held if fact.tier == "persistent"], asked)
    hits = []
    for fact, found in tokens:
        length = sum(found.values())
        total = sum(i * found[q] * 2.2 / (found[q] + 1.2 * (0.25 + 0.75 * length / average)) for q, i in idf.items())
        share = len(trigrams(asked) & trigrams(found)) / len(trigrams(asked))
        reached = max((graph.get(e, 0.0) for e in entities(fact)), default=0.0) if fact.tier == "persistent" else 0.0
        lexical, inflected = min(1.0, total / sum(idf.values())), min(1.0, max(0.0, (share - 0.3) / 0.7))
        relevance = 1 - (1 - lexical) * (1 - inflected / 2) * (1 - reached / 2)
        if relevance > 0:
            score = relevance * (0.5 + 0.5 * 2 ** (-(now - fact.accessed) / (30 * DAY))) * faded(fact, decay, now)
            hits.append(((-round(score, 9), -fact.accessed, place(fact)), fact))
    return sorted(hits, key=lambda hit: hit[0])


def faded(fact, decay, now):
    if decay is None or fact.tier != "persistent":
        return fact.c0
    return max(min(decay.floor, fact.c0), fact.c0 - decay.rate * (now - fact.refreshed) / decay.per)


def activation(held, asked):
    weight = Counter()
    for fact in held:
        named = sorted(entities(fact))
        weight.update((a, b) for a in named for b in named if a != b)
    every = {entity for fact in held for entity in entities(fact)}
    best = {entity: 1.0 for entity in every if terms(entity) and set(terms(entity)) <= asked}
    newest = dict(best)
    for _ in range(2):
        reached = {}
        for entity, value in newest.items():
            edges = {b: w for (a, b), w in weight.items() if a == entity}
            for other, w in edges.items():
                given_ = value * 0.5 * w / max(edges.values())
                if given_ > best.get(other, 0.0):
                    best[other] = reached[other] = given_
        newest = reached
    return best
