import re
def main(args):
    return bool(re.match(r"^(a|ab)*c$", "ab" * 200 + "c"))
