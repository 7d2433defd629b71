import re
from collections import Counter, defaultdict
from datetime import datetime

LOG = """127.0.0.1 - - [10/Oct/2023:13:55:36 +0000] "GET /index.html HTTP/1.1" 200 2326
10.0.0.5 - bob [10/Oct/2023:13:56:01 +0200] "POST /api/v1/items HTTP/1.1" 500 12
10.0.0.5 - - [11/Oct/2023:00:00:00 -0500] "GET /a%20b?q=1 HTTP/2" 404 -
"""
RX = re.compile(r'(?P<ip>\S+) \S+ (?P<user>\S+) \[(?P<ts>[^\]]+)\] "(?P<verb>[A-Z]+) (?P<path>\S+) [^"]*" (?P<code>\d{3}) (?P<size>\d+|-)')


def main(args):
    rows = [m.groupdict() for m in RX.finditer(LOG)]
    by = defaultdict(list)
    for r in rows:
        r["ts"] = datetime.strptime(r["ts"], "%d/%b/%Y:%H:%M:%S %z").timestamp()
        by[r["ip"]].append(r["code"])
    return {"rows": rows, "by": dict(by), "codes": Counter(r["code"][0] for r in rows), "bytes": sum(int(r["size"]) for r in rows if r["size"] != "-"),
            "sub": re.sub(r"(\d+)\.(\d+)", lambda m: f"<{m[2]}.{m[1]}>", "1.2 33.44"), "split": re.split(r"([,;])\s*", "a, b;c"), "look": re.findall(r"(?<=\$)\d+(?:\.\d\d)?(?!\d)", "$5 $6.50 7")}
