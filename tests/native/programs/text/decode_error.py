def main(args):
    return b"\xff\xfe\x00".decode("utf-8")
