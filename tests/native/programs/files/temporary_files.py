import os
import tempfile
from pathlib import Path


def main(args):
    with tempfile.TemporaryDirectory() as d:
        p = Path(d) / "x.txt"
        p.write_text("hi")
        inside = os.listdir(d)
        mode = oct(os.stat(d).st_mode)
    gone = not os.path.exists(d)
    with tempfile.NamedTemporaryFile("w+", suffix=".csv", delete=False) as f:
        f.write("a,b\n1,2\n")
        f.flush()
        name = f.name
    size = os.path.getsize(name)
    fmode = oct(os.stat(name).st_mode & 0o777)
    os.unlink(name)
    with tempfile.SpooledTemporaryFile(max_size=10) as s:
        s.write(b"x" * 20)
        s.seek(5)
        rest = len(s.read())
    with tempfile.TemporaryFile() as t:
        t.write(b"abc")
        t.seek(0)
        tt = t.read()
    fd, path = tempfile.mkstemp(prefix="pre_")
    os.write(fd, b"data")
    os.close(fd)
    return {"inside": inside, "mode": mode, "gone": gone, "suffix": name.endswith(".csv"), "size": size, "fmode": fmode, "rest": rest, "tt": tt.decode(), "pre": os.path.basename(path).startswith("pre_"), "dir": tempfile.gettempdir(), "abs": os.path.isabs(path)}
