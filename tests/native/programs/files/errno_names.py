import errno, os
def main(args):
    return [errno.ENOENT, errno.EEXIST, errno.EACCES, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EINVAL, errno.EAGAIN, os.strerror(2), os.strerror(13), errno.errorcode[17]]
