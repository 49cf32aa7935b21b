"""Digests of the nodes of a graph such that a node's digest covers everything it reaches, and nothing else.

Hands on `digest_nodes`. Nodes that reach each other are digested together, by rounds: after n rounds a digest tells
apart whatever differs within n steps. Must not know: what the nodes are.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Node = tuple[bytes, list[int]]  # own content; the nodes it names, in order

_MOST_ROUNDS = 64


def digest_nodes(nodes: list[Node]) -> list[bytes]:
    """A SHA-256 per node; its number and the order of other nodes do not count."""
    digests: dict[int, bytes] = {}
    for group in components(nodes):
        digests.update(_group(nodes, group, digests))
    return [digests[number] for number in range(len(nodes))]


def _group(nodes: list[Node], group: list[int], known: dict[int, bytes]) -> dict[int, bytes]:
    """Digests of nodes that reach each other, given those of all they reach besides."""
    current = {number: _digest(nodes[number][0], []) for number in group}
    everyone = _digest(b"", sorted(current.values()))
    for _ in range(min(len(group), _MOST_ROUNDS)):
        current = {
            number: _digest(nodes[number][0], [everyone, *(current.get(n) or known[n] for n in nodes[number][1])])
            for number in group
        }
    return current


def _digest(content: bytes, parts: list[bytes]) -> bytes:
    state = hashlib.sha256(len(content).to_bytes(8, "big"))
    state.update(content)
    state.update(b"".join(parts))
    return state.digest()


def components(nodes: list[Node]) -> Iterator[list[int]]:
    """Groups of nodes that reach each other, each after all groups it reaches (Tarjan's algorithm with a stack of
    its own)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in range(len(nodes)):
        walk = [] if root in order else [(root, iter(nodes[root][1]))]
        while walk:
            node, rest = walk[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                open_nodes.append(node)
                is_open.add(node)
            for inner in rest:
                if inner not in order:
                    walk.append((inner, iter(nodes[inner][1])))
                    break
                if inner in is_open:
                    low[node] = min(low[node], order[inner])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == order[node]:
                    group = [open_nodes.pop()]
                    while group[-1] != node:
                        group.append(open_nodes.pop())
                    is_open.difference_update(group)
                    yield group
