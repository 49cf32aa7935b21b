"""A text made by chance: which word follows two others, counted from a text, then drawn with a fixed seed."""


class Random:
    __slots__ = ("state",)

    def __init__(self, state):
        self.state = state

    def below(self, n):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state // 65536 % n


class Chain:
    def __init__(self, text):
        self.followers = {}
        self.starts = []
        for sentence in text.split(". "):
            words = sentence.split(" ")
            self.starts.append((words[0], words[1]))
            for i in range(len(words) - 2):
                counts = self.followers.setdefault(words[i] + " " + words[i + 1], {})
                counts[words[i + 2]] = counts.get(words[i + 2], 0) + 1


def drawn(counts, random):
    left = random % sum(counts.values())
    for word, count in counts.items():
        if left < count:
            return word
        left -= count
    raise ValueError("nothing drawn")


def sentence(chain, random):
    a, b = chain.starts[random.below(len(chain.starts))]
    text = a + " " + b
    for _ in range(30):
        counts = chain.followers.get(a + " " + b)
        if counts is None:
            break
        following = drawn(counts, random.below(1000))
        text += " " + following
        a, b = b, following
    return text + "."


def main(n, emit):
    source = (
        "the cat sat on the mat and the dog sat on the log. the dog saw the cat on the mat and sat on the cat. "
        "a cat saw the dog on the log and the cat ran to the mat. the mat and the log saw a cat and a dog. "
        "a dog sat on the mat and a cat sat on the dog and the dog ran to the log"
    )
    chain = Chain(source)
    random = Random(31)
    lengths = {}
    words = 0
    longest = ""
    while words < n:
        text = sentence(chain, random)
        count = len(text.split(" "))
        words += count
        lengths[count] = lengths.get(count, 0) + 1
        if len(text) > len(longest):
            longest = text
    emit("words", words)
    emit("keys", len(chain.followers))
    emit("longest", longest)
    emit("lengths", len(lengths))
