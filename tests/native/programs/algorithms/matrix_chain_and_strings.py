def lps(p):
    t, k = [0] * len(p), 0
    for i in range(1, len(p)):
        while k and p[i] != p[k]:
            k = t[k - 1]
        k += p[i] == p[k]
        t[i] = k
    return t


def z(s):
    n, l, r = len(s), 0, 0
    out = [0] * n
    for i in range(1, n):
        if i < r:
            out[i] = min(r - i, out[i - l])
        while i + out[i] < n and s[out[i]] == s[i + out[i]]:
            out[i] += 1
        if i + out[i] > r:
            l, r = i, i + out[i]
    return out


def suffix_array(s):
    return sorted(range(len(s)), key=lambda i: s[i:])


def mcm(d):
    n = len(d) - 1
    m = [[0] * n for _ in range(n)]
    for L in range(2, n + 1):
        for i in range(n - L + 1):
            j = i + L - 1
            m[i][j] = min(m[i][k] + m[k + 1][j] + d[i] * d[k + 1] * d[j + 1] for k in range(i, j))
    return m[0][-1]


def huffman(text):
    import heapq
    from collections import Counter
    h = [(n, i, c) for i, (c, n) in enumerate(sorted(Counter(text).items()))]
    heapq.heapify(h)
    i = len(h)
    while len(h) > 1:
        a, b = heapq.heappop(h), heapq.heappop(h)
        heapq.heappush(h, (a[0] + b[0], i, (a[2], b[2])))
        i += 1
    codes = {}
    def walk(t, p=""):
        if isinstance(t, tuple):
            walk(t[0], p + "0")
            walk(t[1], p + "1")
        else:
            codes[t] = p
    walk(h[0][2])
    return codes


def main(args):
    return {"lps": lps("abacabadabacaba"), "z": z("aabxaabxcaabxaabxay"), "sa": suffix_array("banana"), "mcm": mcm([4000, 1000, 3000, 12000, 2000, 50000, 10]), "huff": huffman("abracadabra")}
