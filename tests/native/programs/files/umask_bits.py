import os
def main(args):
    old = os.umask(0o077)
    open("f", "w").close(); os.mkdir("d")
    os.umask(old)
    return [oct(old), oct(os.stat("f").st_mode & 0o777), oct(os.stat("d").st_mode & 0o777)]
