"""Poker: a deck is shuffled, hands are dealt, named and compared; who wins how often, and with what."""

from dataclasses import dataclass

SUITS = ["Clubs", "Diamonds", "Hearts", "Spades"]


@dataclass(slots=True)
class Card:
    rank: int
    suit: str


@dataclass(slots=True)
class Score:
    kind: str
    points: list


class Deck:
    def __init__(self, seed):
        self.cards = [Card(rank, suit) for suit in SUITS for rank in range(2, 15)]
        self.state = seed

    def shuffle(self):
        cards = self.cards
        for i in range(len(cards) - 1, 0, -1):
            self.state = (self.state * 1103515245 + 12345) % 2147483648
            j = self.state // 65536 % (i + 1)
            cards[i], cards[j] = cards[j], cards[i]

    def hand(self, i):
        return self.cards[i * 5 : i * 5 + 5]


def score(hand):
    counts = {}
    for card in hand:
        counts[card.rank] = counts.get(card.rank, 0) + 1
    groups = sorted(counts.items(), key=lambda group: (-group[1], -group[0]))
    ranks = [rank for rank, _ in groups]
    flush = all(card.suit == hand[0].suit for card in hand)
    straight = len(ranks) == 5 and ranks[0] - ranks[4] == 4
    match [count for _, count in groups]:
        case _ if straight and flush:
            kind, value = "straight flush", 8
        case [4, *_]:
            kind, value = "four", 7
        case [3, 2]:
            kind, value = "full house", 6
        case _ if flush:
            kind, value = "flush", 5
        case _ if straight:
            kind, value = "straight", 4
        case [3, *_]:
            kind, value = "three", 3
        case [2, 2, *_]:
            kind, value = "two pairs", 2
        case [2, *_]:
            kind, value = "pair", 1
        case _:
            kind, value = "high card", 0
    return Score(kind, [value, *ranks])


def main(n, emit):
    deck = Deck(7)
    kinds = {}
    wins = [0, 0, 0, 0]
    best = Score("none", [])
    for _ in range(n):
        deck.shuffle()
        scores = [score(deck.hand(player)) for player in range(4)]
        winner = 0
        for player, found in enumerate(scores):
            kinds[found.kind] = kinds.get(found.kind, 0) + 1
            if found.points > scores[winner].points:
                winner = player
        wins[winner] += 1
        if scores[winner].points > best.points:
            best = scores[winner]
    emit("kinds", kinds)
    emit("wins", wins)
    emit("best", {"kind": best.kind, "points": best.points})
    top = deck.cards[0]
    emit("top", {"rank": top.rank, "suit": {"variant": top.suit, "data": None}})
