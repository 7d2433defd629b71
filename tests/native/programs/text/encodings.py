def main(args):
    s = "Grüße, €5"
    return [s.encode("latin-1", "replace").hex(), s.encode("cp1252").hex(), s.encode("utf-16-le").hex(), b"\xe4".decode("iso-8859-15"), s.encode("ascii", "xmlcharrefreplace").decode(), "日本".encode("shift_jis").hex(), b"\x80abc".decode("utf-8", "backslashreplace")]
