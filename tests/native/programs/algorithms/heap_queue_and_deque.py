import heapq
from collections import OrderedDict, deque, ChainMap, UserDict


class LRU:
    def __init__(self, n):
        self.n, self.d = n, OrderedDict()

    def get(self, k):
        if k not in self.d:
            return -1
        self.d.move_to_end(k)
        return self.d[k]

    def put(self, k, v):
        self.d[k] = v
        self.d.move_to_end(k)
        if len(self.d) > self.n:
            self.d.popitem(last=False)


def main(args):
    h = [5, 1, 8, 3]
    heapq.heapify(h)
    c = LRU(2)
    for i in range(5):
        c.put(i % 3, i * 10**10)
    d = deque(range(5), maxlen=3)
    d.rotate(1)
    d.extendleft([9])
    win = deque()
    out = []
    a = [1, 3, -1, -3, 5, 3, 6, 7]
    for i, x in enumerate(a):
        while win and a[win[-1]] < x:
            win.pop()
        win.append(i)
        if win[0] <= i - 3:
            win.popleft()
        if i >= 2:
            out.append(a[win[0]])
    return {"pop": [heapq.heappop(h) for _ in range(4)], "nl": heapq.nlargest(2, [4, 9, 1], key=lambda x: -x), "merge": list(heapq.merge([1, 4], [2, 3])), "lru": list(c.d.items()), "miss": c.get(1), "d": list(d), "win": out, "cm": dict(ChainMap({"a": 1}, {"a": 2, "b": 3})), "rp": heapq.heapreplace([1, 5, 3], 9), "max": d.maxlen}
