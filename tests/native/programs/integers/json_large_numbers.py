import json
from decimal import Decimal


def main(args):
    text = '{"id": 18446744073709551617, "f": 1e400, "d": 0.1, "n": [2147483648, -9223372036854775809], "e": 1E5}'
    a = json.loads(text)
    b = json.loads(text, parse_float=Decimal, parse_int=str)
    dumped = json.dumps({"big": 2**100, "neg": -(2**63), "f": 1e16, "g": 1e22, "h": 0.1 + 0.2, "i": float("nan")})
    return {"id": str(a["id"]), "inf": str(a["f"]), "n": [str(v) for v in a["n"]], "b": {k: str(v) for k, v in b.items()}, "dumped": dumped,
            "etype": type(a["e"]).__name__, "sorted": json.dumps({10: 1, 9: 2, 2: 3}, sort_keys=True)}
