"""A trie as a list of nodes: words added, prefixes completed, counted."""


class Node:
    __slots__ = ("children", "ends", "below")

    def __init__(self):
        self.children = {}
        self.ends = False
        self.below = 0


class Trie:
    def __init__(self):
        self.nodes = [Node()]

    def add(self, word):
        node = self.nodes[0]
        for c in word:
            node.below += 1
            at = node.children.get(c)
            if at is None:
                at = node.children[c] = len(self.nodes)
                self.nodes.append(Node())
            node = self.nodes[at]
        node.ends = True

    def find(self, prefix):
        at = 0
        for c in prefix:
            at = self.nodes[at].children.get(c)
            if at is None:
                return None
        return at

    def collect(self, at, prefix):
        node = self.nodes[at]
        words = [prefix] if node.ends else []
        for c, following in node.children.items():
            words += self.collect(following, prefix + c)
        return words

    def complete(self, prefix):
        at = self.find(prefix)
        return [] if at is None else self.collect(at, prefix)


def main(n, emit):
    syllables = ["ka", "to", "mi", "ren", "sol", "ve"]
    trie = Trie()
    state = 77
    for _ in range(n):
        word = ""
        for _ in range(3):
            state = (state * 1103515245 + 12345) % 2147483648
            word += syllables[state // 65536 % 6]
        trie.add(word)
    completed = 0
    last = []
    for i in range(n // 10):
        last = trie.complete(syllables[i % 6] + syllables[i * 5 % 6])
        completed += len(last)
    emit("nodes", len(trie.nodes))
    emit("words", len(trie.complete("")))
    emit("completed", completed)
    emit("last", last)
    emit("below", trie.nodes[trie.find("ka") or 0].below)
