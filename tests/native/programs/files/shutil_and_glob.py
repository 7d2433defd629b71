import filecmp
import fnmatch
import glob
import os
import shutil


def main(args):
    os.makedirs("s/x/y")
    for n in ("1.txt", "2.py", "[3].txt", "x/4.txt", "x/y/5.TXT"):
        open(f"s/{n}", "w").write(n)
    shutil.copytree("s", "d", ignore=shutil.ignore_patterns("*.py"))
    shutil.copy2("s/2.py", "d/two.py")
    shutil.move("d/1.txt", "d/x/moved.txt")
    os.utime("s/1.txt", (10**9, 10**9))
    shutil.copystat("s/1.txt", "d/two.py")
    cmp = filecmp.dircmp("s", "d")
    out = {"glob": sorted(glob.glob("s/**/*.txt", recursive=True)), "esc": glob.glob(glob.escape("s/[3].txt")), "root": sorted(glob.glob("*.txt", root_dir="s")), "fn": fnmatch.filter(["a.py", "b.PY"], "*.py"), "left": sorted(cmp.left_only), "right": sorted(cmp.right_only), "mt": os.path.getmtime("d/two.py"), "which": shutil.which("definitely-not"), "tree": sorted(os.path.join(a, f) for a, _, fs in os.walk("d") for f in fs)}
    shutil.rmtree("d")
    out["gone"] = os.path.exists("d")
    try:
        shutil.rmtree("d")
    except FileNotFoundError as e:
        out["err"] = str(e)
    try:
        shutil.copy("s", "t")
    except IsADirectoryError as e:
        out["err2"] = str(e)
    try:
        shutil.copytree("s", "s/x")
    except FileExistsError as e:
        out["err3"] = str(e)
    try:
        shutil.copyfile("s/1.txt", "s/1.txt")
    except shutil.SameFileError as e:
        out["err4"] = str(e)
    os.umask(0o027)
    open("m", "w").close()
    os.mkdir("md")
    out["modes"] = [oct(os.stat(p).st_mode) for p in ("m", "md")]
    os.chmod("m", 0o755)
    out["x"] = [os.access("m", os.X_OK), oct(os.stat("m").st_mode)]
    return out
