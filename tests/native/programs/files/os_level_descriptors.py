import errno
import fcntl
import os
import stat


def main(args):
    fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(fd, b"hello world")
    os.lseek(fd, 6, os.SEEK_SET)
    out = {"read": os.read(fd, 100).decode(), "st": os.fstat(fd).st_size, "pread": os.pread(fd, 5, 0).decode(), "mode": stat.filemode(os.fstat(fd).st_mode), "isatty": os.isatty(fd)}
    d = os.dup(fd)
    os.lseek(d, 0, 0)
    out["shared"] = os.lseek(fd, 0, 1)
    os.ftruncate(fd, 5)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)
    try:
        os.write(fd, b"x")
    except OSError as e:
        out["bad"] = [e.errno == errno.EBADF, str(e)]
    try:
        os.open("f", os.O_CREAT | os.O_EXCL)
    except FileExistsError as e:
        out["ex"] = str(e)
    out["after"] = open("f").read()
    with os.fdopen(d, "rb") as f:
        out["fdopen"] = f.read().decode()
    os.replace("f", "g")
    out["ls"] = os.listdir()
    r = os.stat("g")
    out["times"] = [r.st_mtime > 1e9, r.st_nlink, r.st_uid >= 0, r.st_blksize]
    out["env"] = [os.sep, os.linesep, os.pathsep, os.name, os.devnull, os.curdir, os.extsep]
    out["path"] = [os.path.normpath("a//b/../c"), os.path.join("a", "/b"), os.path.splitext("x.tar.gz"), os.path.commonpath(["/a/b", "/a/c"]), os.path.relpath("/a/b", "/a/c/d"), os.path.expandvars("$NOPE/x"), os.path.split("/a/"), os.path.basename("/a/b/")]
    return out
