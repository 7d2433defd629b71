import re
def main(args):
    return [re.sub(r"(\w+)@(\w+)\.com", r"\2: \1", "joe@acme.com, ann@corp.com"), re.split(r"[,;]\s*", "a, b;c"), re.sub(r"\d+", lambda m: str(int(m[0]) * 2), "a1b22"), re.findall(r"(?<=\$)\d+(?:\.\d\d)?", "$5 and $7.25")]
