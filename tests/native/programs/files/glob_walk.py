import glob, os
def main(args):
    os.makedirs("a/b/c"); open("a/1.py", "w").close(); open("a/b/2.py", "w").close(); open("a/b/c/3.txt", "w").close()
    return [sorted(glob.glob("a/**/*.py", recursive=True)), [(r, sorted(d), sorted(f)) for r, d, f in os.walk("a")], sorted(e.name for e in os.scandir("a") if e.is_file())]
