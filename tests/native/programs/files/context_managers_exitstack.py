import contextlib
import io
import os


@contextlib.contextmanager
def cd(path):
    old = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(old)


def main(args):
    os.makedirs("w/q")
    with cd("w/q"):
        here = os.getcwd()
        open("z", "w").write("1")
        os.chdir("..")
        up = os.getcwd()
    with contextlib.ExitStack() as st:
        fs = [st.enter_context(open(f"f{i}", "w")) for i in range(50)]
        for f in fs:
            f.write("x")
    buf = io.StringIO()
    with contextlib.redirect_stdout(buf), contextlib.suppress(ZeroDivisionError):
        print("captured")
        1 / 0
    with contextlib.chdir("w"):
        rel = os.path.exists("q/z")
    return {"here": here, "up": up, "closed": all(f.closed for f in fs), "n": len([f for f in os.listdir() if f[0] == "f"]), "buf": buf.getvalue(), "rel": rel, "null": contextlib.nullcontext(5).__enter__()}
