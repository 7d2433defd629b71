import yaml
def main(args):
    d = yaml.safe_load("a: 1\nb: [x, yes, 2026-01-02]\nc: |\n  multi\n  line\nd: ~\n")
    return [str(d), yaml.safe_dump({"z": [1, 2], "a": {"k": "v: w"}}, sort_keys=True)]
