import os, platform, sys
def main(args):
    return [isinstance(os.getuid(), int), isinstance(os.getpid(), int), os.name, platform.system(), sys.byteorder, os.sep, os.linesep, os.cpu_count() >= 1, platform.machine() != ""]
