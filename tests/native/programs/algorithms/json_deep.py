import json
def main(args):
    s = "[" * 900 + "]" * 900
    return [json.dumps(json.loads(s)) == s, len(s)]
