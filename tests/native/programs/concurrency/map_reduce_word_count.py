# script
from collections import Counter
from functools import reduce
from multiprocessing import Pool
import string

DOCS = ["the quick brown fox", "the lazy dog", "quick quick fox!"]


def mapper(doc):
    return Counter(doc.translate(str.maketrans("", "", string.punctuation)).split())


def main():
    with Pool(3) as pool:
        parts = pool.map(mapper, DOCS)
    total = reduce(lambda a, b: a + b, parts)
    for w, n in total.most_common():
        print(w, n)


if __name__ == "__main__":
    main()
