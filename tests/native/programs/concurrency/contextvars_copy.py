import contextvars
v = contextvars.ContextVar("v", default=0)
def main(args):
    v.set(5); c = contextvars.copy_context(); v.set(6)
    return [c[v], v.get(), c.run(v.get)]
