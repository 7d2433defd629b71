import difflib
def main(args):
    a, b = "one\ntwo\nthree\n".splitlines(True), "one\n2\nthree\nfour\n".splitlines(True)
    return ["".join(difflib.unified_diff(a, b, "a", "b")), difflib.get_close_matches("appel", ["ape", "apple", "peach"]), round(difflib.SequenceMatcher(None, "abcd", "bcde").ratio(), 6)]
