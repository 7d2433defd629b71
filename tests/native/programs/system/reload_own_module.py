import importlib, pathlib, sys
def main(args):
    pathlib.Path("settings_mod.py").write_text("VALUE = 1\n")
    sys.path.insert(0, ".")
    importlib.invalidate_caches()
    import settings_mod
    first = settings_mod.VALUE
    pathlib.Path("settings_mod.py").write_text("VALUE = 22222\n")
    importlib.reload(settings_mod)
    second = settings_mod.VALUE
    del sys.modules["settings_mod"]
    import settings_mod as again
    return first, second, again is settings_mod, again.VALUE
