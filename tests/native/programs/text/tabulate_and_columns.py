# script
from tabulate import tabulate

rows = [["Alice", 24, 1234567.891], ["Böb", None, 3.0], ["李", 7, -0.5]]
for fmt in ("plain", "github", "grid", "html", "latex", "psql"):
    print(tabulate(rows, headers=["Name", "Age", "Val"], tablefmt=fmt, floatfmt=".2f"))
print(tabulate({"a": [1, 2], "b": ["x", "y"]}, headers="keys", showindex=True))
