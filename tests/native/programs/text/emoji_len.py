def main(args):
    s = "👨‍👩‍👧 ok 🇩🇪"
    return [len(s), [hex(ord(c)) for c in s[:5]], s.encode("utf-8").hex(), s[::-1].encode("unicode_escape").decode()]
