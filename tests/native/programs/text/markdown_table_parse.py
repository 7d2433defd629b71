def main(args):
    md = "| a | b |\n|---|---|\n| 1 | x |\n| 2 | y |"
    rows = [[c.strip() for c in l.strip("|").split("|")] for l in md.splitlines()]
    return [dict(zip(rows[0], r)) for r in rows[2:]]
