from itertools import permutations, combinations, product, groupby, accumulate, pairwise, batched
def main(args):
    return [len(list(permutations(range(6)))), list(combinations("abcd", 2))[:3], [(k, len(list(g))) for k, g in groupby("aaabbc")], list(accumulate([1, 2, 3, 4])), list(pairwise("abc")), [list(b) for b in batched(range(5), 2)], len(list(product([0, 1], repeat=8)))]
