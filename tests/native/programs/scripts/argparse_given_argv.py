# script
import argparse
import sys

sys.argv = ["tool", "add", "3", "4", "--scale", "2.5"]
p = argparse.ArgumentParser(exit_on_error=False)
sub = p.add_subparsers(dest="cmd", required=True)
a = sub.add_parser("add", help="add numbers")
a.add_argument("nums", nargs="+", type=int)
a.add_argument("--scale", type=float, choices=[1.0, 2.5])
ns = p.parse_args()
print(sum(ns.nums) * ns.scale)
try:
    p.parse_args(["add", "x"])
except argparse.ArgumentError as e:
    print("error:", e)
print(p.format_usage())
