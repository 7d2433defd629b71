import io
import os
import shutil
import tarfile
import zipfile
from pathlib import Path


def main(args):
    root = Path("proj")
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("alpha " * 100)
    (root / "sub" / "b.bin").write_bytes(bytes(range(256)))
    os.chmod(root / "a.txt", 0o640)
    with zipfile.ZipFile("p.zip", "w", zipfile.ZIP_DEFLATED) as z:
        for p in sorted(root.rglob("*")):
            z.write(p, p.relative_to(root))
        z.writestr("c/d.txt", "x")
    with zipfile.ZipFile("p.zip") as z:
        info = [(i.filename, i.file_size, i.compress_size < i.file_size, oct(i.external_attr >> 16)) for i in z.infolist()]
        bad = z.testzip()
        z.extractall("out")
    with tarfile.open("p.tar.gz", "w:gz") as t:
        t.add(root, arcname="r")
    with tarfile.open("p.tar.gz") as t:
        names = [(m.name, oct(m.mode), m.size, m.isdir(), m.uname) for m in t.getmembers()]
        t.extractall("out2", filter="data")
    arc = shutil.make_archive("bundle", "zip", root)
    shutil.unpack_archive(arc, "out3")
    mem = io.BytesIO()
    with zipfile.ZipFile(mem, "w") as z:
        z.writestr("e", "é")
    return {"info": info, "bad": bad, "names": sorted(n[:4] for n in names), "arc": os.path.basename(arc), "out": sorted(str(p) for p in Path("out3").rglob("*")), "mem": len(mem.getvalue()), "fmt": sorted(f[0] for f in shutil.get_archive_formats())[:5], "is": zipfile.is_zipfile("p.zip"), "o": sorted(os.listdir("out"))}
