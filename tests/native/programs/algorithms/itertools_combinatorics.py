from collections import deque
from itertools import accumulate, batched, chain, combinations, combinations_with_replacement, compress, count, cycle, dropwhile, filterfalse, groupby, islice, pairwise, permutations, product, repeat, starmap, takewhile, tee, zip_longest
import operator


def main(args):
    return {"perm": ["".join(p) for p in permutations("abc")], "comb": len(list(combinations(range(20), 6))), "cwr": list(combinations_with_replacement("ab", 2)), "prod": list(product([0, 1], repeat=2)), "acc": list(accumulate([1, 2, 3], operator.mul, initial=10**9)), "bat": list(batched("abcdefg", 3)), "ch": list(chain.from_iterable(["ab", "c"])), "cmp": list(compress("abcd", [1, 0, 1])), "isl": list(islice(count(10, 5), 2, 6)), "isl2": list(islice(cycle("ab"), 5)), "dw": list(dropwhile(str.isalpha, "ab1c")), "ff": list(filterfalse(None, [0, 1, ""])), "gb": [(k, len(list(g))) for k, g in groupby("aabccc")], "pw": list(pairwise([1, 4, 9])), "rep": list(repeat(7, 3)), "sm": list(starmap(pow, [(2, 40), (3, 30)])), "tw": list(takewhile(lambda x: x < 3, count())), "tee": [list(t) for t in tee([1, 2], 2)], "zl": list(zip_longest("a", "xy", fillvalue="-")), "dq": list(deque(range(10), maxlen=3)), "bigcount": list(islice(count(2**62), 3)), "step": list(islice(range(10**12), 0, 10**6, 250_000)), "zip": list(zip(range(2**40, 2**40 + 2), "ab", strict=True))}
