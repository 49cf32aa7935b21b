"""A conversation cut to a budget of tokens: system messages stay, old turns leave, long ones are shortened."""

from dataclasses import dataclass, replace


@dataclass(slots=True)
class Said:
    role: str
    text: str
    turn: int


def tokens(text):
    return (len(text) + 3) // 4


def cost(messages):
    return sum(tokens(m.text) + 4 for m in messages)


def shortened(said, most):
    if tokens(said.text) <= most:
        return said
    return replace(said, text=said.text[: most * 4 - 1] + "…")


def cut(messages, budget):
    kept = [m for m in messages if m.role == "system"]
    others = [shortened(m, 30) for m in messages if m.role != "system"]
    left = budget - cost(kept)
    chosen = []
    for said in reversed(others):
        price = tokens(said.text) + 4
        if price > left:
            break
        left -= price
        chosen.append(said)
    chosen.reverse()
    return kept + chosen


def shown(messages):
    return "\n".join([f"{m.role}: {m.text.strip()}" for m in messages])


def main(n, emit):
    words = ["when", "does", "the", "next", "train", "leave", "for", "town", "and", "back"]
    history = [Said("system", "You answer questions about trains.", 0)]
    letters = 0
    most = 0
    for turn in range(1, n + 1):
        text = [words[(turn + k * k) % 10] for k in range(turn * 7 % 40 + 3)]
        history.append(Said("user", " ".join(text) + "?", turn))
        history.append(Said("assistant", f"At {turn % 24}:{10 + turn % 50}. ", turn))
        history = cut(history, 400)
        letters += len(shown(history))
        most = max(most, len(history))
    emit("letters", letters)
    emit("most", most)
    emit("oldest", history[1].turn)
