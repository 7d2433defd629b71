import os
def main(args):
    open("t", "w").write("v"); os.symlink("t", "l"); os.link("t", "h")
    return [os.readlink("l"), open("l").read(), os.path.islink("l"), os.stat("t").st_nlink, os.path.realpath("l").endswith("/t"), os.lstat("l").st_size, os.path.samefile("t", "h")]
