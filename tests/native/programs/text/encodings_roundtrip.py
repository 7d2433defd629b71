import codecs


def main(args):
    t = "Grüße, €uro — 日本 🙂"
    out = {}
    for enc in ("utf-8", "utf-16", "utf-16-le", "utf-32-be", "utf-8-sig", "utf-7", "cp1252", "latin-1", "shift_jis", "gb18030", "big5", "koi8-r", "cp437", "euc-kr", "ascii", "idna", "punycode", "mac-roman", "iso8859-15", "cp932", "hz"):
        try:
            out[enc] = t.encode(enc, "replace").hex()
        except Exception as e:
            out[enc] = f"{type(e).__name__}: {e}"
    out["xml"] = t.encode("ascii", "xmlcharrefreplace").decode()
    out["back"] = t.encode("latin-1", "backslashreplace").decode("latin-1")
    out["name"] = "é".encode("ascii", "namereplace").decode()
    out["sur"] = b"\xff\xfea".decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape").hex()
    try:
        b"ok\xff".decode()
    except UnicodeDecodeError as e:
        out["err"] = str(e)
    try:
        "é".encode("ascii")
    except UnicodeEncodeError as e:
        out["err2"] = str(e)
    out["rot"] = codecs.encode("Hello", "rot13")
    out["bom"] = codecs.BOM_UTF8.hex()
    out["lookup"] = codecs.lookup("UTF8").name
    return out
