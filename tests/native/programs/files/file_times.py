import os, time
def main(args):
    open("f", "w").close(); os.utime("f", (1_000_000_000, 1_500_000_000.25))
    s = os.stat("f")
    open("g", "w").close()
    return [s.st_atime, s.st_mtime, s.st_mtime_ns, abs(os.path.getmtime("g") - time.time()) < 5]
