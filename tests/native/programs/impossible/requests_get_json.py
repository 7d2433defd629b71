# refused: ModuleNotFoundError|OSError|ConnectionError: network
import requests


def main(args):
    r = requests.get("https://api.github.com/repos/python/cpython", timeout=5)
    r.raise_for_status()
    return r.json()["stargazers_count"]
