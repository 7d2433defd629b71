import os
def main(args):
    open("f", "w").close(); os.utime("f", (2**32 + 5, 2**33))
    return [os.stat("f").st_mtime, os.stat("f").st_atime]
