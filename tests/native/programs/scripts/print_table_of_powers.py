# script
print(f"{'n':>3} {'n^2':>6} {'n^10':>14}")
for n in range(1, 6):
    print(f"{n:>3} {n**2:>6} {n**10:>14,}")
print("=" * 20)
rows = [(i, i / 7) for i in range(3)]
print(*(f"{a}:{b:.3g}" for a, b in rows), sep=" | ")
print(rows)
print("%-10s|%+.2e" % ("left", 12345.678))
import json

print(json.dumps({"rows": rows, "é": "ü"}, indent=2, ensure_ascii=False))
