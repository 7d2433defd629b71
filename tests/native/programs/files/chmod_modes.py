import os, stat
def main(args):
    open("f", "w").close()
    a = stat.filemode(os.stat("f").st_mode)
    os.chmod("f", 0o600)
    b = oct(os.stat("f").st_mode & 0o777)
    os.mkdir("d", 0o700)
    return [a, b, oct(os.stat("d").st_mode & 0o777), os.access("f", os.R_OK)]
