import unicodedata
def main(args):
    s = "e\u0301 \ufb01 Å"
    return [len(s), unicodedata.normalize("NFC", s), unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode(), unicodedata.name("ß"), "ß".upper(), "İ".lower(), "ΑΣ".lower()]
