# script
import argparse

p = argparse.ArgumentParser(prog="tool")
p.add_argument("path")
args = p.parse_args()
print(args.path)
