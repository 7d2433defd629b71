"""Look-ups of names and addresses.

The gateway connects by name, so a program never learns the address of a host. Each name that it may
look up gets an address of its own out of 198.18.0.0/15, a range that is set aside for tests and
belongs to no network; `name_of` turns it back when the program connects. `ipaddress` says
`is_private` of it, and not `is_global`.

Without a network, addresses that are written as numbers and the name `localhost` are known;
everything else fails as on a Linux that reaches no name server, so that `except OSError` catches it.
"""

from __future__ import annotations

import _socket
import ipaddress
from errno import EACCES, EAFNOSUPPORT, EAGAIN, EPERM
from typing import Any

from _wardian import network

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
    "inet_ntop",
    "inet_pton",
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
_ADDRESS_FAMILY = -9
_LONGEST_NAME = 253
_MOST_NAMES = (1 << 17) - 2

_names: dict[str, str] = {}
_addresses: dict[str, str] = {}


def _failure(number: int, text: str) -> Any:
    return _socket.gaierror(number, text)


def _unknown(name: str, error: OSError) -> Any:
    if network.has_no_network(error):
        text = network.refusal_advice(name)
        failure = _failure(_AGAIN, f"Temporary failure in name resolution ({text})")
        failure.advice = text
        return failure
    if error.errno == EAGAIN:
        return _failure(_AGAIN, "Temporary failure in name resolution")
    return _failure(_NONAME, "Name or service not known")


def name_of(address: str) -> str:
    """Returns the name that an address was made up for, else the address."""
    return _names.get(address, address)


def address_of(name: str) -> str:
    """Returns the address of a name, which is made up when it is first looked up.

    A name that the run may not reach has one, too: connecting to it says why it is refused.

    Raises:
        gaierror: There is no such name, or no network.
    """
    name = name.rstrip(".").lower()
    known = _addresses.get(name)
    if known is not None:
        return known
    if not 0 < len(name) <= _LONGEST_NAME or len(_names) >= _MOST_NAMES:
        raise _failure(_NONAME, "Name or service not known")
    try:
        network.resolve(name)
    except OSError as error:
        if error.errno != EACCES:
            raise _unknown(name, error) from None
    return _made_up(name)


def _made_up(name: str) -> str:
    number = len(_names) + 1
    address = f"198.{18 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
    _names[address], _addresses[name] = name, address
    return address


def forget() -> None:
    """Forgets the names of a run; for rehearsals and tests."""
    _names.clear()
    _addresses.clear()


def _local(name: str) -> list[tuple[int, str]]:
    """The addresses of this machine, unless the run may reach a host of that name."""
    four, six = _socket.AF_INET, _socket.AF_INET6
    if name != "localhost":
        return [(four, "127.0.0.1")]
    if name not in _addresses:
        try:
            network.resolve(name)
        except OSError:
            return [(six, "::1"), (four, "127.0.0.1")]
        _made_up(name)
    return [(four, _addresses[name])]


def _addresses_of(host: str | None, family: int, passive: bool) -> list[tuple[int, str]]:
    """The address families and addresses of a host."""
    four, six = _socket.AF_INET, _socket.AF_INET6
    if host is None:
        known = [(four, "0.0.0.0"), (six, "::")] if passive else [(six, "::1"), (four, "127.0.0.1")]
    elif host in ("localhost", _HOST):
        known = _local(host)
    else:
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            if family == six:
                raise _failure(_ADDRESS_FAMILY, "Address family for hostname not supported") from None
            known = [(four, address_of(_encoded(host)))]
        else:
            known = [(four if address.version == 4 else six, str(address))]
    found = [entry for entry in known if family in (0, entry[0])]
    if not found:
        raise _failure(_ADDRESS_FAMILY, "Address family for hostname not supported")
    return found


def _encoded(host: str) -> str:
    """A name as the name service knows it.

    Raises:
        UnicodeError: It cannot be encoded.
    """
    return host if host.isascii() else host.encode("idna").decode("ascii")


def connectable(host: Any) -> str:
    """Returns the name or number by which the gateway connects to a host.

    Raises:
        gaierror: There is no such name, or no network.
    """
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii")
    return name_of(_addresses_of(host, 0, False)[-1][1])


def is_loopback(host: str) -> bool:
    """True for a name or number of this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def inet_pton(family: int, text: str) -> bytes:
    """Packs an address of either family; the interpreter is built without IPv6."""
    if family not in (_socket.AF_INET, _socket.AF_INET6):
        raise OSError(EAFNOSUPPORT, "Address family not supported by protocol")
    kind = ipaddress.IPv4Address if family == _socket.AF_INET else ipaddress.IPv6Address
    try:
        packed: bytes = kind(text).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None
    return packed


def inet_ntop(family: int, packed: bytes) -> str:
    """Writes a packed address of either family."""
    if family not in (_socket.AF_INET, _socket.AF_INET6):
        raise ValueError(f"unknown address family {family}")
    kind, length = (
        (ipaddress.IPv4Address, 4) if family == _socket.AF_INET else (ipaddress.IPv6Address, 16)
    )
    packed = bytes(packed)
    if len(packed) != length:
        raise ValueError("invalid length of packed IP address string")
    return str(kind(packed))


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
        gaierror: There is no such host, or it would have to be looked up without a network.
    """
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii")
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
    for kind, address in _found(host or None, family, passive, flags):
        target = (address, number) if kind == _socket.AF_INET else (address, number, 0, 0)
        found.extend((kind, t, p, "", target) for t, p in kinds)
    return found


def _found(
    host: str | None, family: int, passive: bool, flags: int
) -> list[tuple[int, str]]:
    if host is not None and flags & _socket.AI_NUMERICHOST:
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            raise _failure(_NONAME, "Name or service not known") from None
    return _addresses_of(host, family, passive)


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
    return _addresses_of(host, _socket.AF_INET, False)[0][1]


def gethostbyname_ex(host: str) -> tuple[str, list[str], list[str]]:
    """Returns the names and addresses of a host."""
    return host, [], [gethostbyname(host)]


def gethostbyaddr(address: str) -> tuple[str, list[str], list[str]]:
    """Returns the names of an address."""
    found = _addresses_of(address, 0, False)[0][1]
    if found in _names:
        return _names[found], [], [found]
    if found not in ("127.0.0.1", "::1"):
        raise _socket.herror(1, "Unknown host")
    return "localhost", [], [found]


def getnameinfo(address: tuple[Any, ...], flags: int) -> tuple[str, str]:
    """Returns the names of an address and a port."""
    host, port = address[0], address[1]
    found = _addresses_of(host, 0, False)[0][1]
    is_known = found in _names or found in ("127.0.0.1", "::1")
    if flags & _socket.NI_NAMEREQD and not is_known:
        raise _failure(_NONAME, "Name or service not known")
    if not flags & _socket.NI_NUMERICHOST and is_known:
        found = _names.get(found, "localhost")
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
