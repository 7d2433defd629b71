import os
from pathlib import Path, PurePosixPath, PureWindowsPath


def main(args):
    p = Path("data/2024/report.final.csv")
    p.parent.mkdir(parents=True, exist_ok=True)
    p.touch()
    (p.parent / "b.txt").write_text("x\ny\n")
    (p.parent / ".hid").touch()
    out = {"parts": p.parts, "suffixes": p.suffixes, "stem": p.stem, "with": str(p.with_suffix(".json")), "rel": str(p.relative_to("data")), "abs": str(p.resolve()), "cwd": str(Path.cwd()), "glob": sorted(x.name for x in p.parent.glob("*")), "rglob": sorted(str(x) for x in Path(".").rglob("*.txt")), "match": p.match("*.csv"), "exists": Path("").exists(), "isdir": Path("").is_dir(), "dot": str(Path("")), "home": str(Path("~").expanduser()) == str(Path.home()), "win": PureWindowsPath("C:\\a\\b").as_posix(), "pp": str(PurePosixPath("/a/../b") / "/c"), "st": p.stat().st_size, "ren": str(p.rename(p.with_name("r.csv"))), "walk": [(str(a), sorted(b), sorted(c)) for a, b, c in os.walk("data")], "unl": (p.parent / "r.csv").unlink(), "miss": p.exists(), "uri": Path("/a b").as_uri(), "lines": (p.parent / "b.txt").read_text().splitlines(), "owner": bool((p.parent / "b.txt").owner()), "par": [str(x) for x in p.parents], "samefile": Path("data").samefile("data/../data")}
    for n, f in {"nf": lambda: Path("nope").read_text(), "isdir": lambda: Path("data").read_text(), "ex": lambda: Path("data").mkdir(), "ne": lambda: Path("data").rmdir(), "notdir": lambda: Path("data/2024/b.txt/x").touch(), "rel": lambda: p.relative_to("/x"), "long": lambda: Path("a" * 300).touch(), "nul": lambda: Path("a\0b").touch(), "cp": lambda: os.rename("nope", "x"), "rm": lambda: os.remove("data"), "ls": lambda: os.listdir("data/2024/b.txt"), "chd": lambda: os.chdir("nope")}.items():
        try:
            f()
            out["e_" + n] = "ok"
        except Exception as e:
            out["e_" + n] = f"{type(e).__name__}: {e}"[:200]
    return out
