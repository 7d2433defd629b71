def rolling(text, width, base=257, modulus=(1 << 61) - 1):
    power = pow(base, width - 1, modulus)
    value = 0
    found = {}
    for i, ch in enumerate(text):
        if i >= width:
            value = (value - ord(text[i - width]) * power) % modulus
        value = (value * base + ord(ch)) % modulus
        if i >= width - 1:
            found.setdefault(value, []).append(i - width + 1)
    return found


def main(args):
    text = "abracadabra" * 40
    table = rolling(text, 7)
    return {
        "distinct": len(table),
        "repeats": max(len(v) for v in table.values()),
        "checksum": sum(table) % (10**15 + 37),
        "first": sorted(table)[:3],
    }
