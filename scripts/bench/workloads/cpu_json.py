"""Writes and reads JSON."""

import json


def main(args):
    value = {"rows": [{"id": i, "tags": ["a", "b", str(i)], "x": i / 7} for i in range(5000)]}
    for _ in range(5):
        value = json.loads(json.dumps(value))
    return len(value["rows"])
