import heapq
def main(args):
    g = {"A": {"B": 7, "C": 3}, "B": {"D": 2}, "C": {"B": 1, "D": 8}, "D": {}}
    dist, q = {"A": 0}, [(0, "A")]
    while q:
        d, u = heapq.heappop(q)
        if d > dist.get(u, 1e9): continue
        for v, w in g[u].items():
            if d + w < dist.get(v, float("inf")):
                dist[v] = d + w
                heapq.heappush(q, (d + w, v))
    return dist
