"""Look-ups of names and addresses without a network.

Numeric addresses, `localhost` and the name of the sandbox are known. Every other look-up fails as
on a Linux machine without a name server, so that `except OSError` catches it.
"""

from __future__ import annotations

import _socket
import ipaddress
from errno import EPERM
from typing import Any

from _wardian.advice import NETWORK

__all__ = [
    "getaddrinfo",
    "gethostbyaddr",
    "gethostbyname",
    "gethostbyname_ex",
    "gethostname",
    "getnameinfo",
    "getprotobyname",
    "getservbyname",
    "getservbyport",
    "if_nameindex",
    "sethostname",
]

_HOST = "sandbox"
_SERVICES = {
    "ftp": 21,
    "ssh": 22,
    "telnet": 23,
    "smtp": 25,
    "domain": 53,
    "http": 80,
    "pop3": 110,
    "ntp": 123,
    "imap2": 143,
    "ldap": 389,
    "https": 443,
    "submission": 587,
    "ldaps": 636,
    "imaps": 993,
    "pop3s": 995,
    "mysql": 3306,
    "postgresql": 5432,
}
_PROTOCOLS = {"ip": 0, "icmp": 1, "tcp": 6, "udp": 17}
_AGAIN = -3
_NONAME = -2
_SERVICE = -8
_FAMILY = -6


def _failure(number: int, text: str) -> Any:
    return _socket.gaierror(number, text)


def _unreachable() -> Any:
    return _failure(_AGAIN, f"Temporary failure in name resolution ({NETWORK})")


def _addresses(host: str | None, family: int, passive: bool) -> list[tuple[int, str]]:
    """The address families and addresses of a host."""
    four, six = _socket.AF_INET, _socket.AF_INET6
    if host is None:
        known = [(four, "0.0.0.0"), (six, "::")] if passive else [(six, "::1"), (four, "127.0.0.1")]
    elif host == "localhost":
        known = [(six, "::1"), (four, "127.0.0.1")]
    elif host == _HOST:
        known = [(four, "127.0.0.1")]
    else:
        known = []
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            raise _unreachable() from None
        known = [(four if address.version == 4 else six, str(address))]
    found = [entry for entry in known if family in (0, entry[0])]
    if not found:
        raise _failure(-9, "Address family for hostname not supported")
    return found


def _port(port: Any) -> int:
    if port is None:
        return 0
    if isinstance(port, bytes):
        port = port.decode()
    if isinstance(port, str):
        if port.isdigit():
            return int(port) & 0xFFFF
        if port in _SERVICES:
            return _SERVICES[port]
        raise _failure(_SERVICE, "Servname not supported for ai_socktype")
    return int(port) & 0xFFFF


def getaddrinfo(
    host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
) -> list[tuple[int, int, int, str, tuple[Any, ...]]]:
    """Lists the addresses that a socket could connect to.

    Raises:
        gaierror: The host would have to be looked up, and there is no network.
    """
    if isinstance(host, bytes):
        host = host.decode()
    if host is None and port is None:
        raise _failure(_NONAME, "Name or service not known")
    if family not in (0, _socket.AF_INET, _socket.AF_INET6):
        raise _failure(_FAMILY, "ai_family not supported")
    number = _port(port)
    passive = bool(flags & _socket.AI_PASSIVE)
    kinds = [(_socket.SOCK_STREAM, 6), (_socket.SOCK_DGRAM, 17)]
    kinds = [(t, p) for t, p in kinds if type in (0, t) and proto in (0, p)]
    if not kinds:
        raise _failure(-7, "ai_socktype not supported")
    found: list[tuple[int, int, int, str, tuple[Any, ...]]] = []
    for kind, address in _addresses(host or None, family, passive):
        target = (address, number) if kind == _socket.AF_INET else (address, number, 0, 0)
        found.extend((kind, t, p, "", target) for t, p in kinds)
    return found


def gethostname() -> str:
    """Returns the name of this machine, the same in every run."""
    return _HOST


def sethostname(name: object) -> None:
    """Refuses.

    Raises:
        PermissionError: Always.
    """
    raise PermissionError(EPERM, "Operation not permitted")


def gethostbyname(host: str) -> str:
    """Returns the address of a host."""
    return _addresses(host, _socket.AF_INET, False)[0][1]


def gethostbyname_ex(host: str) -> tuple[str, list[str], list[str]]:
    """Returns the names and addresses of a host."""
    return host, [], [gethostbyname(host)]


def gethostbyaddr(address: str) -> tuple[str, list[str], list[str]]:
    """Returns the names of an address."""
    found = _addresses(address, 0, False)[0][1]
    if found not in ("127.0.0.1", "::1"):
        raise _socket.herror(1, "Unknown host")
    return "localhost", [], [found]


def getnameinfo(address: tuple[Any, ...], flags: int) -> tuple[str, str]:
    """Returns the names of an address and a port."""
    host, port = address[0], address[1]
    found = _addresses(host, 0, False)[0][1]
    if not flags & _socket.NI_NUMERICHOST and found in ("127.0.0.1", "::1"):
        found = "localhost"
    if flags & _socket.NI_NAMEREQD and found != "localhost":
        raise _unreachable()
    service = str(port)
    if not flags & _socket.NI_NUMERICSERV:
        service = next((name for name, number in _SERVICES.items() if number == port), service)
    return found, service


def getservbyname(name: str, protocol: str | None = None) -> int:
    """Returns the port of a service."""
    if name not in _SERVICES or protocol not in (None, "tcp", "udp"):
        raise OSError("service/proto not found")
    return _SERVICES[name]


def getservbyport(port: int, protocol: str | None = None) -> str:
    """Returns the service of a port."""
    for name, number in _SERVICES.items():
        if number == port and protocol in (None, "tcp", "udp"):
            return name
    raise OSError("port/proto not found")


def getprotobyname(name: str) -> int:
    """Returns the number of a protocol."""
    if name not in _PROTOCOLS:
        raise OSError("protocol not found")
    return _PROTOCOLS[name]


def if_nameindex() -> list[tuple[int, str]]:
    """Lists the network interfaces: the one that every Linux has."""
    return [(1, "lo")]
