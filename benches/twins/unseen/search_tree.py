"""A binary search tree of tuples: inserted by returning new trees, walked, measured, removed from."""


def insert(tree, key, value):
    if tree is None:
        return (None, key, value, None)
    left, k, v, right = tree
    if key < k:
        return (insert(left, key, value), k, v, right)
    if key > k:
        return (left, k, v, insert(right, key, value))
    return (left, k, value, right)


def find(tree, key):
    if tree is None:
        return None
    left, k, v, right = tree
    if k == key:
        return v
    return find(left if key < k else right, key)


def depth(tree):
    return 0 if tree is None else 1 + max(depth(tree[0]), depth(tree[3]))


def keys(tree):
    if tree is None:
        return []
    left, k, _, right = tree
    return keys(left) + [k] + keys(right)


def least(tree):
    if tree is None:
        return None
    left, k, v, _ = tree
    return (k, v) if left is None else least(left)


def removed(tree, key):
    if tree is None:
        return None
    left, k, v, right = tree
    if key < k:
        return (removed(left, key), k, v, right)
    if key > k:
        return (left, k, v, removed(right, key))
    found = least(right)
    if found is None:
        return left
    return (left, *found, removed(right, found[0]))


def main(n, emit):
    tree = None
    for i in range(n):
        tree = insert(tree, i * 7919 % 1000003, f"v{i}")
    hits = 0
    for i in range(n):
        hits += len(find(tree, i * 11 % 1000003) or "")
    emit("hits", hits)
    emit("depth", depth(tree))
    for i in range(n // 2):
        tree = removed(tree, i * 2 * 7919 % 1000003)
    left = keys(tree)
    emit("left", len(left))
    emit("ends", [left[0], left[-1]])
