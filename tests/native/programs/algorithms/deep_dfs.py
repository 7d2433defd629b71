import sys
sys.setrecursionlimit(20000)
def main(args):
    seen = set()
    def dfs(n):
        seen.add(n)
        if n < 9000:
            dfs(n + 1)
    dfs(0)
    return len(seen)
