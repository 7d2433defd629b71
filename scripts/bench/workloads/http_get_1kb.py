import os
import urllib.request

ORIGIN = os.environ.get("BENCH_ORIGIN", "origin.example")


def main(args):
    with urllib.request.urlopen(f"http://{ORIGIN}/1000") as answer:
        return len(answer.read())
