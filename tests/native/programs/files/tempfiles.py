import tempfile, os
def main(args):
    with tempfile.TemporaryDirectory() as d:
        p = os.path.join(d, "x"); open(p, "w").close(); a = os.path.exists(p)
    with tempfile.NamedTemporaryFile("w+", suffix=".txt", delete=False) as f:
        f.write("q"); n = f.name
    t = tempfile.TemporaryFile(); t.write(b"ab"); t.seek(0)
    s = tempfile.SpooledTemporaryFile(max_size=10); s.write(b"x" * 20)
    return [a, os.path.exists(p), open(n).read(), t.read().decode(), n.endswith(".txt"), tempfile.gettempdir()]
