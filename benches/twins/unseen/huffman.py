"""Huffman codes: a tree of tuples built from counts, texts written in it and read back."""


def counts(text):
    out = {}
    for sign in text:
        out[sign] = out.get(sign, 0) + 1
    return out


def insert(queue, entry):
    at = len(queue)
    while at > 0 and (queue[at - 1][0] < entry[0] or queue[at - 1][0] == entry[0] and queue[at - 1][1] < entry[1]):
        at -= 1
    queue.insert(at, entry)


def built(text):
    queue = []
    order = 0
    for sign, weight in counts(text).items():
        insert(queue, (weight, order, sign))
        order += 1
    while len(queue) > 1:
        a = queue.pop()
        b = queue.pop()
        insert(queue, (a[0] + b[0], order, (a[2], b[2])))
        order += 1
    return queue[0][2]


def codes(tree, prefix, out):
    if isinstance(tree, str):
        out[tree] = prefix
    else:
        left, right = tree
        codes(left, prefix + "0", out)
        codes(right, prefix + "1", out)
    return out


def read(tree, bits):
    out = []
    at = tree
    for bit in bits:
        if not isinstance(at, str):
            at = at[0] if bit == "0" else at[1]
        if isinstance(at, str):
            out.append(at)
            at = tree
    return "".join(out)


def main(n, emit):
    bits = 0
    same = 0
    for i in range(n):
        text = f"the number {i * 7919 % 1000} is near {i * 31 % 97}, or so they say in town {i}"
        tree = built(text)
        table = codes(tree, "", {})
        written = "".join([table[sign] for sign in text])
        bits += len(written)
        if read(tree, written) == text:
            same += 1
    emit("bits", bits)
    emit("same", same)
