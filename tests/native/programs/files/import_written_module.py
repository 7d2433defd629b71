import importlib, sys
def main(args):
    sys.dont_write_bytecode = True
    sys.path.insert(0, ".")
    open("mod_a.py", "w").write("X = 1\n"); importlib.invalidate_caches()
    import mod_a
    a = mod_a.X
    open("mod_a.py", "w").write("X = 2\n"); importlib.reload(mod_a)
    return [a, mod_a.X]
