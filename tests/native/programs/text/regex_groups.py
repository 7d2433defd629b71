import re
def main(args):
    log = "2026-01-02 ERROR [db] timeout=30\n2026-01-03 INFO [web] ok"
    p = re.compile(r"^(?P<day>\S+) (?P<level>\w+) \[(?P<mod>\w+)\] (?P<msg>.*)$", re.M)
    return [m.groupdict() for m in p.finditer(log)]
