import heapq
import math


def dijkstra(g, s):
    dist = {s: 0}
    prev = {}
    q = [(0, s)]
    while q:
        d, u = heapq.heappop(q)
        if d > dist.get(u, math.inf):
            continue
        for v, w in g[u].items():
            nd = d + w
            if nd < dist.get(v, math.inf):
                dist[v], prev[v] = nd, u
                heapq.heappush(q, (nd, v))
    return dist, prev


def astar(grid, a, b):
    h = lambda p: abs(p[0] - b[0]) + abs(p[1] - b[1])
    q = [(h(a), 0, a)]
    best = {a: 0}
    while q:
        _, g, p = heapq.heappop(q)
        if p == b:
            return g
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            n = (p[0] + dx, p[1] + dy)
            if 0 <= n[0] < len(grid) and 0 <= n[1] < len(grid[0]) and grid[n[0]][n[1]] != "#" and g + 1 < best.get(n, 10**9):
                best[n] = g + 1
                heapq.heappush(q, (g + 1 + h(n), g + 1, n))


def main(args):
    g = {i: {(i * 7 + k) % 100: k * k + 1 for k in range(1, 4)} for i in range(100)}
    d, p = dijkstra(g, 0)
    grid = ["..#.....", ".##.###.", "....#...", ".####.#.", "......#."]
    return {"sum": sum(d.values()), "max": max(d.items(), key=lambda t: (t[1], t[0])), "prev": p[99], "astar": astar(grid, (0, 0), (4, 7))}
