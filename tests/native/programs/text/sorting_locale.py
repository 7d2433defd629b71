def main(args):
    return [sorted(["b", "A", "ä", "a", "Z", "é"]), sorted(["file10", "file2", "file1"], key=lambda s: [int(p) if p.isdigit() else p for p in __import__("re").split(r"(\d+)", s)])]
