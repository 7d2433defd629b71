def main(args):
    rows = []
    for y in range(-6, 7, 2):
        row = ""
        for x in range(-10, 5):
            z, c, n = 0j, complex(x / 5, y / 5), 0
            while abs(z) < 2 and n < 30:
                z = z * z + c; n += 1
            row += "#" if n == 30 else "."
        rows.append(row)
    return rows
