def main(args):
    def fmt(s):
        h, r = divmod(s, 3600); m, s = divmod(r, 60)
        return f"{h}h {m:02}m {s:02}s"
    return [fmt(3661), fmt(86399), fmt(59)]
