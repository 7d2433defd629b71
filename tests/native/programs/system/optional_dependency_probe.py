import importlib, importlib.util, shutil
def main(args):
    found = {}
    for name in ("json", "no_such_module_xyz", "xml.dom", "no_such_package.sub"):
        try:
            found[name] = importlib.util.find_spec(name) is not None
        except ModuleNotFoundError as error:
            found[name] = error.name
    try:
        import no_such_module_xyz
    except ImportError as error:
        found["import"] = [type(error).__name__, error.name]
    try:
        from json import no_such_function
    except ImportError as error:
        found["from"] = [error.name, type(error).__name__]
    return found
