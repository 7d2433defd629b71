def main(args):
    return {"ok": True, "n": 1}
