"""Makes the kernel collapse the memory of other processes into huge pages.

With `process_madvise(MADV_COLLAPSE)`, from Linux 6.1 on and as root, which is what `khugepaged` does
by itself where huge pages are always on. A page becomes private in this way without any fault of the
process. As a program: `collapse.py SECONDS PID...` prints what was tried and what was done as JSON.
"""

import contextlib
import ctypes
import json
import mmap
import os
import platform
import re
import struct
import sys
import time

HUGE = 2 << 20
MADV_COLLAPSE = 25
PROCESS_MADVISE = 440
_libc = ctypes.CDLL(None, use_errno=True)


def collapse(pidfd, start, length):
    """True if the kernel made huge pages of the whole range."""
    vector = ctypes.create_string_buffer(struct.pack("QQ", start, length))
    arguments = [ctypes.c_long(pidfd), vector, ctypes.c_ulong(1)]
    done = _libc.syscall(PROCESS_MADVISE, *arguments, ctypes.c_int(MADV_COLLAPSE), ctypes.c_uint(0))
    return done == length


def is_offered():
    """True if this kernel collapses memory of a process that has not forbidden it."""
    page = mmap.mmap(-1, 3 * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    start = -(-address // HUGE) * HUGE
    page[start - address] = 1
    with contextlib.closing(PidFd(os.getpid())) as own:
        return collapse(own.number, start, HUGE)


class PidFd:
    """A handle of a process."""

    def __init__(self, pid):
        self.number = os.pidfd_open(pid)

    def close(self):
        os.close(self.number)


def ranges(pid):
    """Whole huge pages of memory that the process can write to."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) .w.p", line)
            if match:
                first, last = (int(address, 16) for address in match.groups())
                yield from range(-(-first // HUGE) * HUGE, last // HUGE * HUGE, HUGE)


def collapse_all(pid):
    """Tries every range of a process once; how many were tried, and how many are huge now."""
    tried = done = 0
    # The process may end meanwhile.
    with contextlib.suppress(OSError), contextlib.closing(PidFd(pid)) as handle:
        for start in ranges(pid):
            tried += 1
            done += collapse(handle.number, start, HUGE)
    return tried, done


def main():
    seconds, pids = float(sys.argv[1]), [int(pid) for pid in sys.argv[2:]]
    end = time.monotonic() + seconds
    tried = done = 0
    while True:
        for pid in pids:
            more_tried, more_done = collapse_all(pid)
            tried, done = tried + more_tried, done + more_done
        if time.monotonic() >= end:
            break
    report = {"offered": is_offered(), "kernel": platform.release(), "tried": tried, "done": done}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
