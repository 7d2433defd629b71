# script
import hashlib
import os
from collections import defaultdict
from pathlib import Path

base = Path("tree")
for name, text in {"a.txt": "same", "b/c.txt": "same", "b/d.txt": "other", "e.md": ""}.items():
    f = base / name
    f.parent.mkdir(parents=True, exist_ok=True)
    f.write_text(text)
groups = defaultdict(list)
for dirpath, dirnames, filenames in os.walk(base):
    dirnames.sort()
    for fn in sorted(filenames):
        p = os.path.join(dirpath, fn)
        with open(p, "rb") as fh:
            groups[hashlib.file_digest(fh, "sha256").hexdigest()[:12]].append(p)
for h, ps in groups.items():
    if len(ps) > 1:
        print("DUP", h, ps)
print(sum(os.path.getsize(p) for ps in groups.values() for p in ps), "bytes")
with os.scandir(base) as it:
    print(sorted((e.name, e.is_dir(), e.is_file(), e.is_symlink()) for e in it))
os.symlink("a.txt", base / "link")
print(os.readlink(base / "link"), (base / "link").read_text(), os.path.islink(base / "link"), os.stat(base / "link").st_size, os.lstat(base / "link").st_size)
os.link(base / "a.txt", base / "hard")
print(os.stat(base / "hard").st_nlink, os.path.samefile(base / "hard", base / "a.txt"))
