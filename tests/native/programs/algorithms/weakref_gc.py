import gc, weakref
def main(args):
    class A: pass
    a = A(); a.me = a
    w = weakref.ref(a)
    del a
    gc.collect()
    return w() is None
