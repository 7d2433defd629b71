"""Writes 1 MB of JSON and reads it back."""

import json


def main(args):
    rows = [{"id": i, "name": "row " + str(i), "value": i * 0.5} for i in range(21000)]
    text = json.dumps(rows)
    again = json.loads(text)
    return {"bytes": len(text), "last": again[-1]["value"]}
