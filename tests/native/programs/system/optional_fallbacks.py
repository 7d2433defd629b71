try:
    import ujson_no_such as json
except ImportError:
    import json
try:
    import tomllib
except ModuleNotFoundError:
    tomllib = None
try:
    import resource_no_such
    HAS = True
except ImportError:
    HAS = False
def main(args):
    return json.dumps({"a": 1}), tomllib.loads("x = 1"), HAS
