import unicodedata


def slug(s):
    s = unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode()
    return "-".join("".join(c if c.isalnum() else " " for c in s.lower()).split())


def main(args):
    words = ["Crème Brûlée", "Ærøskøbing", "İstanbul", "ﬁne", "½ cup", "Straße", "日本語", "e\u0301"]
    return {"slug": [slug(w) for w in words], "nfc": [len(unicodedata.normalize("NFC", w)) for w in words], "fold": [w.casefold() for w in words], "upper": [w.upper() for w in words], "lower": [w.lower() for w in words],
            "names": [unicodedata.name(c) for c in "é€🙂"], "cat": [unicodedata.category(c) for c in "aA1 _€"], "num": unicodedata.numeric("½"), "w": [unicodedata.east_asian_width(c) for c in "aあ"], "title": "o'neil mc-donald's".title(),
            "isd": ["²".isdigit(), "²".isdecimal(), "五".isnumeric()], "swap": "aBcß".swapcase(), "sorted": sorted(words), "len": [len(w.encode()) for w in words], "rev": "🙂ab"[::-1], "esc": "é🙂\n".encode("unicode_escape").decode(), "ver": unicodedata.unidata_version > "15"}
