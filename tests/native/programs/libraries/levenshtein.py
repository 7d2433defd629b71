import Levenshtein
from Levenshtein import distance, hamming, jaro, jaro_winkler, ratio

PAIRS = [("", ""), ("a", ""), ("kitten", "sitting"), ("Saturday", "Sunday"), ("martha", "marhta"),
         ("dixon", "dicksonx"), ("ab" * 60, "ba" * 55), ("größe", "grösse"), ("abc", "xyz")]


def main(args):
    return [
        [[distance(a, b), distance(a, b, weights=(1, 1, 2)), distance(a, b, weights=(2, 1, 3)),
          distance(a, b, score_cutoff=2), hamming(a, b), ratio(a, b), jaro(a, b), jaro_winkler(a, b),
          jaro_winkler(a, b, prefix_weight=0.2)] for a, b in PAIRS],
        distance([1, 2, 3], [1, 3]), ratio(b"abc", b"abd"),
        distance(" Abc", "abc ", processor=lambda text: text.strip().lower()),
        Levenshtein.distance("lewenstein", "levenshtein"),
    ]
