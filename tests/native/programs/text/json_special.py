import json
def main(args):
    return [json.loads('{"x": NaN, "y": Infinity}').__repr__(), json.dumps(float("inf")), json.dumps("\ud800")]
