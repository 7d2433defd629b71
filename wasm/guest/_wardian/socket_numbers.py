"""The numbers of `socket` on Linux. Those of WASI's C library, which no socket reaches, are others."""

from __future__ import annotations

import _socket

LINUX = {
    "AF_INET": 2,
    "AF_INET6": 10,
    "AF_UNIX": 1,
    "AI_ADDRCONFIG": 32,
    "AI_ALL": 16,
    "AI_CANONNAME": 2,
    "AI_NUMERICHOST": 4,
    "AI_NUMERICSERV": 1024,
    "AI_PASSIVE": 1,
    "AI_V4MAPPED": 8,
    "EAI_ADDRFAMILY": -9,
    "EAI_AGAIN": -3,
    "EAI_BADFLAGS": -1,
    "EAI_FAIL": -4,
    "EAI_FAMILY": -6,
    "EAI_MEMORY": -10,
    "EAI_NODATA": -5,
    "EAI_NONAME": -2,
    "EAI_OVERFLOW": -12,
    "EAI_SERVICE": -8,
    "EAI_SOCKTYPE": -7,
    "EAI_SYSTEM": -11,
    "INADDR_ALLHOSTS_GROUP": 0xE0000001,
    "INADDR_BROADCAST": 0xFFFFFFFF,
    "INADDR_MAX_LOCAL_GROUP": 0xE00000FF,
    "INADDR_NONE": 0xFFFFFFFF,
    "INADDR_UNSPEC_GROUP": 0xE0000000,
    "MSG_OOB": 1,
    "MSG_PEEK": 2,
    "MSG_TRUNC": 32,
    "MSG_WAITALL": 256,
    "NI_NAMEREQD": 8,
    "NI_NOFQDN": 4,
    "NI_NUMERICHOST": 1,
    "NI_NUMERICSERV": 2,
    "SHUT_RD": 0,
    "SHUT_RDWR": 2,
    "SHUT_WR": 1,
    "SOCK_CLOEXEC": 524288,
    "SOCK_DGRAM": 2,
    "SOCK_NONBLOCK": 2048,
    "SOCK_RAW": 3,
    "SOCK_STREAM": 1,
    "SOL_SOCKET": 1,
    "SOMAXCONN": 4096,
}


def install() -> None:
    """Renumbers `_socket`. Comes before anything reads the numbers."""
    for name, number in LINUX.items():
        setattr(_socket, name, number)


install()
