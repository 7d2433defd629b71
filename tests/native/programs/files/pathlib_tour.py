from pathlib import Path
def main(args):
    p = Path("data/sub"); p.mkdir(parents=True)
    (p / "b.txt").write_text("bb"); (p / "a.csv").write_bytes(b"1,2")
    return [sorted(str(x) for x in Path("data").rglob("*")), (p / "a.csv").suffix, (p / "b.txt").stat().st_size, p.exists(), str(p.resolve()), (p / "x").exists(), str((p / "b.txt").rename(p / "c.txt")), Path("").exists(), str(p.parent), list(p.parts)]
