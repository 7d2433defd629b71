import jiter


def main(args):
    text = b'{"steps": [{"tool": "search", "args": {"q": "tea", "n": 3}}, {"tool": "answer", "args": {"text": "It is \\u2615 hot'
    growing = []
    for end in range(0, len(text) + 1, 16):
        try:
            growing.append(jiter.from_json(text[:end], partial_mode="trailing-strings"))
        except ValueError as error:
            growing.append(str(error))
    return [
        growing,
        jiter.from_json(b"[1e3, 0.1, -0, 18446744073709551616]"),
        str(jiter.from_json(b"1.10", float_mode="decimal")),
        jiter.from_json(b"[0.1]", float_mode="lossless-float")[0].__class__.__name__,
        isinstance(jiter.cache_usage(), int),
    ]
