# script
words = "the cat sat on the mat with the other cat".split()
unique = set(words)
print(len(unique), sorted(unique))
seen = dict.fromkeys(words)
print(list(seen))
ints = {5, 3, 99, 1, 64, 1000}
print(ints)
print({10, 20, 30} | {40}, {1, 2, 3} ^ {3, 4})
print(sorted({"b": 1, "a": 2}.items()))
print({x % 7 for x in range(0, 70, 9)})
print(hash(5), hash(-1), hash(2.0), hash(True), hash(10**6))
