import string


def caesar(s, k):
    low, up = string.ascii_lowercase, string.ascii_uppercase
    return s.translate(str.maketrans(low + up, low[k:] + low[:k] + up[k:] + up[:k]))


def vig(s, key):
    return "".join(chr((ord(c) + ord(key[i % len(key)]) - 130) % 26 + 65) for i, c in enumerate(s))


def rle(s):
    import itertools
    return "".join(f"{len(list(g))}{k}" for k, g in itertools.groupby(s))


def roman(n):
    out = ""
    for v, r in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        out += r * (n // v)
        n %= v
    return out


def main(args):
    return {"c": caesar("Hello, World", 3), "b": caesar(caesar("abc", 5), -5 % 26), "v": vig("ATTACKATDAWN", "LEMON"), "rle": rle("aaabccd"), "roman": [roman(n) for n in (1994, 2024, 3999)], "bin": " ".join(f"{ord(c):08b}" for c in "Hi"), "pal": all(w == w[::-1] for w in ("level", "noon")), "ana": sorted("listen") == sorted("silent"),
            "zfill": "-42".zfill(6), "rem": "prefix-x".removeprefix("prefix-"), "maketrans": "abc".translate({97: None, 98: "BB"}), "is": ["a1".isalnum(), " ".isspace(), "Ab".istitle(), "x".isidentifier(), "é".isascii()], "find": "banana".find("na", 3), "cnt": "banana".count("ana"), "just": "x".rjust(3, ".") + "y".center(4, "-")}
