# script
import re
from collections import Counter

TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom,
it was the age of foolishness, it was the epoch of belief"""


def clean(text):
    return re.findall(r"[a-z']+", text.lower())


def report(counter, top=5):
    width = max(len(w) for w, _ in counter.most_common(top))
    for word, n in counter.most_common(top):
        print(f"{word:<{width}} {'#' * n} {n}")


words = clean(TEXT)
c = Counter(words)
report(c)
bigrams = Counter(zip(words, words[1:]))
print(bigrams.most_common(3))
print(c.total(), len(c), (c - Counter(words[:10])).most_common(2), c["missing"])
print(sorted(c.elements())[:5])
avg = sum(map(len, words)) / len(words)
print(f"Average word length: {avg:.4f}")
