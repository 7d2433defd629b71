import json
def main(args):
    d = {"b": [1, 2.5, None, True], "a": {"ü": "é\u2028"}, "big": 2**70, "f": 1e-7}
    s = json.dumps(d, sort_keys=True, indent=2)
    return [s, json.loads(s) == d, json.dumps(d, ensure_ascii=False)]
