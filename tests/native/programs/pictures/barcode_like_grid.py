from PIL import Image
import zlib


def life(grid, n):
    h, w = len(grid), len(grid[0])
    for _ in range(n):
        grid = [[int((s := sum(grid[(y + j) % h][(x + i) % w] for i in (-1, 0, 1) for j in (-1, 0, 1)) - grid[y][x]) == 3 or s == 2 and grid[y][x]) for x in range(w)] for y in range(h)]
    return grid


def main(args):
    g = [[0] * 24 for _ in range(24)]
    for x, y in ((1, 0), (2, 1), (0, 2), (1, 2), (2, 2), (10, 10), (11, 10), (12, 10)):
        g[y][x] = 1
    g = life(g, 30)
    im = Image.new("1", (24, 24))
    im.putdata([v * 255 for r in g for v in r])
    big = im.resize((96, 96), Image.NEAREST)
    return {"alive": sum(map(sum, g)), "crc": zlib.crc32(big.tobytes()), "ascii": ["".join(".#"[v] for v in r) for r in g][8:14]}
