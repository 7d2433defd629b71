def main(args):
    x = 0
    for _ in range(900):
        x = [x]
    def flat(v):
        return flat(v[0]) if isinstance(v, list) else v
    return [flat(x), str(x).count("[")]
