"""Tries to get out of the sandbox in the ways that others have been got out of.

Every probe returns what it got hold of, or nothing if it was stopped. A probe that is stopped by an
exception was stopped.
"""

import builtins
import os

ROOT = {"blobs", "dev", "skills", "tmp", "usr", "workspace"}
DEVICES = {"full", "null", "random", "stderr", "stdin", "stdout", "urandom", "zero"}
VARIABLES = {"HOME", "LANG", "LC_ALL", "PATH", "PYTHONTZPATH", "TMPDIR", "TZ", "PWD"}


def read(path):
    with open(path, "rb") as file:
        return f"{path}: {len(file.read(100))} bytes"


def files_of_the_host():
    for path in ["/etc/passwd", "/proc/self/environ", "/proc/1/root/etc/passwd", "/dev/mem",
                 "//etc/passwd", "/workspace/../../etc/passwd", "/skills/../../../etc/passwd",
                 "../../../../etc/passwd", "/usr/local/lib/../../../etc/passwd"]:
        try:
            return read(path)
        except OSError:
            continue


def folders_of_the_host():
    return sorted(set(os.listdir("/")) - ROOT) + sorted(set(os.listdir("/dev")) - DEVICES)


def links_to_the_host():
    for number, target in enumerate(["/etc/passwd", "../../../../etc/passwd", "../etc/", ".."]):
        link = f"/workspace/link-{number}"
        try:
            os.symlink(target, link)
            return read(link if number < 2 else f"{link}/passwd")
        except OSError:
            continue


def writes_where_nothing_may_be_written():
    for path in ["/skills/x", "/blobs/x", "/usr/local/lib/x", "/x"]:
        for attempt in [lambda: open(path, "w"), lambda: os.mkdir(path),
                        lambda: os.symlink("/workspace", path)]:
            try:
                attempt()
                return path
            except OSError:
                continue


def a_changed_library():
    path = "/usr/local/lib/python315.zip"
    for attempt in [lambda: open(path, "r+b"), lambda: os.truncate(path, 0),
                    lambda: os.rename(path, "/workspace/zip"), lambda: os.unlink(path),
                    lambda: os.link(path, "/workspace/zip")]:
        try:
            attempt()
            return path
        except OSError:
            continue


def inherited_descriptors():
    for number in range(3, 300):
        try:
            return f"descriptor {number}: {len(os.read(number, 100))} bytes"
        except OSError:
            continue


def a_connection():
    import socket
    for address in [("127.0.0.1", 22), ("127.0.0.1", 8080), ("169.254.169.254", 80)]:
        try:
            socket.create_connection(address, 0.01)
            return f"{address}"
        except OSError:
            continue


def a_process():
    import subprocess
    for attempt in [lambda: subprocess.run(["/usr/bin/id"]), lambda: os.system("id") == 0,
                    lambda: os.fork(), lambda: os.posix_spawn("/usr/bin/id", ["id"], {})]:
        try:
            if attempt():
                return "a process was started"
        except (OSError, AttributeError):
            continue


def variables_of_the_host():
    return sorted(set(os.environ) - VARIABLES)


def a_file_larger_than_the_workspace():
    with open("/workspace/large", "wb") as file:
        file.truncate(1 << 42)
        return "4 TiB"


def more_open_files_than_allowed():
    files = []
    for number in range(100_000):
        files.append(open("/workspace/file", "w"))
    return f"{len(files)} open files"


def more_memory_than_allowed():
    return f"{len(bytearray(5 << 30))} bytes"


def traces_of_another_run():
    found = []
    if getattr(builtins, "_self_test", False):
        found.append("a changed module")
    if os.path.exists("/workspace/trace"):
        found.append("a file")
    builtins._self_test = True
    with open("/workspace/trace", "w") as file:
        file.write("trace")
    return found


PROBES = [traces_of_another_run, files_of_the_host, folders_of_the_host, links_to_the_host,
          writes_where_nothing_may_be_written, a_changed_library, inherited_descriptors,
          a_connection, a_process, variables_of_the_host, a_file_larger_than_the_workspace,
          more_open_files_than_allowed, more_memory_than_allowed]


def main(args):
    """Returns how many probes there were, and what those that got out got hold of."""
    escaped = {}
    for probe in PROBES:
        try:
            found = probe()
        except (OSError, ImportError, AttributeError, MemoryError, OverflowError):
            continue
        if found:
            escaped[probe.__name__] = str(found)
    return {"probes": len(PROBES), "escaped": escaped}
