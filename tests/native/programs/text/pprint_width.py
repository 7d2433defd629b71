import pprint
def main(args):
    return pprint.pformat({"a": list(range(20)), "b": {"c": "x" * 30, "d": ["y" * 20] * 3}}, width=60)
