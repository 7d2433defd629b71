# script
import pickle

import rpds

base = rpds.HashTrieMap({"a": 1, "b": [2]})
more = base.insert("c", None).remove("a").update({"d": 4.5})
print(sorted(more.items(), key=str), "a" in base, base == rpds.HashTrieMap.convert({"b": [2], "a": 1}))
print(rpds.HashTrieMap({"k": rpds.List([1, "x"])}), rpds.HashTrieSet([7]), rpds.Queue([1, 2]), rpds.Stack(["s"]))
print(hash(rpds.HashTrieMap({"k": 1})) == hash(rpds.HashTrieMap(k=1)), pickle.loads(pickle.dumps(base)) == base)
left, right = rpds.HashTrieSet([1, 2, 3]), rpds.HashTrieSet([3, 4])
print(sorted(left | right), sorted(left & right), sorted(left - right), sorted(left ^ right), left > rpds.HashTrieSet([1]))
for step in (
    lambda: base["z"],
    lambda: base.remove("z"),
    lambda: left.remove(9),
    lambda: rpds.List().first,
    lambda: rpds.Queue().dequeue(),
    lambda: rpds.HashTrieMap(3),
    lambda: hash(base),
    lambda: base.insert({}, 1),
):
    try:
        print(step())
    except Exception as error:
        print(type(error).__name__, error)
numbers = rpds.List(range(5))
[list(numbers.rest.push_front(9)), list(reversed(list(numbers))), len(numbers), numbers.first]
