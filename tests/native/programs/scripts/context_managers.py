# script
from contextlib import contextmanager, suppress, ExitStack, redirect_stdout
import io
@contextmanager
def tag(n):
    print(f"<{n}>"); yield; print(f"</{n}>")
with tag("a"), suppress(KeyError):
    {}["x"]
b = io.StringIO()
with redirect_stdout(b): print("caught")
print(repr(b.getvalue()))
