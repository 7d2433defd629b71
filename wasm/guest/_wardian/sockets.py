"""The C module `_socket`, as far as WASI lacks it: connections over the gateway.

The standard library's `socket.py` stays as it is; it needs a base class for its `socket` and a few
functions. A socket is a number (a *virtual descriptor*, far above those of files) for a `Stream`,
and a stream is a connection of the gateway together with the bytes that were read ahead from it, or
one end of a pair within the program.

A connection is made when the program connects, and its failure is known then: libraries tell a
server that refuses from one that breaks off by the call that fails.
"""

from __future__ import annotations

import _socket
import errno
import math
import operator
import os
import time
from collections.abc import Callable
from typing import Any

from _wardian import clock, local_sockets, names, network, socket_numbers

FIRST_DESCRIPTOR = 1 << 20
"""The first virtual descriptor. Files have small numbers."""

_AF_UNIX, _SOCK_RAW = socket_numbers.LINUX["AF_UNIX"], socket_numbers.LINUX["SOCK_RAW"]
_SOCK_MAX = 11
_READ_AHEAD = 1 << 16
_SO_ERROR = 4
_MSG_PEEK = _socket.MSG_PEEK
_MSG_WAITALL = _socket.MSG_WAITALL
_MSG_DONTWAIT = 0x40

_CONNECTING = (errno.ENOTCONN, errno.EINPROGRESS, errno.EALREADY, errno.EAGAIN)
"""What writing nothing fails with while a connection is being made."""

_now = time.monotonic

streams: dict[int, Stream] = {}
"""Streams by their virtual descriptors."""

_next_descriptor = FIRST_DESCRIPTOR
_default_timeout: float | None = None


class Stream:
    """One connection, however many descriptors and objects stand for it."""

    __slots__ = (
        "_data", "_position", "address", "end", "ended", "handle", "is_shut", "references"
    )  # fmt: skip

    def __init__(self, end: local_sockets.End | None = None) -> None:
        self.handle: int | None = None
        self.end = end
        self.address: tuple[Any, ...] | None = None
        self.ended = self.is_shut = False
        self.references = 1
        self._data, self._position = b"", 0

    @property
    def is_readable(self) -> bool:
        """True if reading does not have to ask the host."""
        if self.end is not None:
            return self.end.is_readable or self.ended
        return self._position < len(self._data) or self.ended

    def fill(self, size: int, timeout: float | None) -> bool:
        """Reads ahead if nothing is there. False if nothing came within `timeout`."""
        if self.is_readable:
            return True
        if self.end is not None:
            if timeout == 0:
                return False
            return local_sockets.wait(lambda: self.is_readable, timeout, "bytes on a socket")
        if self.handle is None:
            return True
        data = network.read(self.handle, max(size, _READ_AHEAD), timeout)
        if data is None:
            return False
        self._data, self._position, self.ended = data, 0, not data
        return True

    def take(self, size: int, keep: bool) -> memoryview:
        """Returns what was read ahead, at most `size` bytes; they stay there if `keep`."""
        if self.end is not None:
            return self.end.take(size, keep)
        part = memoryview(self._data)[self._position : self._position + size]
        if not keep:
            self._position += len(part)
            if self._position == len(self._data):
                self._data, self._position = b"", 0
        return part

    def write(self, view: memoryview, left: Callable[[], float | None]) -> int:
        """Writes as much as there is room for, and waits for some room as long as is left.

        Raises:
            OSError: There was none in time, or nobody reads it.
        """
        if self.is_shut or not self.is_connected:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        while True:
            if self.end is not None:
                sent = self.end.peer.put(view)
                if sent >= 0:
                    return sent
            else:
                sent = network.write(self.handle, view)  # type: ignore[arg-type]
                if sent:
                    return sent
            timeout = left()
            if timeout == 0:
                raise _would_block()
            if not self._has_room(timeout):
                raise _timed_out()

    def _has_room(self, timeout: float | None) -> bool:
        end = self.end
        if end is None:
            return _is_ready(self, network.WRITE, timeout)
        return local_sockets.wait(lambda: end.is_writable, timeout, "room in a socket")

    @property
    def is_connected(self) -> bool:
        """True if there is a connection, or a pair."""
        return self.handle is not None or self.end is not None

    def shut(self, reading: bool, writing: bool) -> None:
        """Ends directions."""
        if writing and not self.is_shut:
            self.is_shut = True
            if self.end is not None:
                self.end.end_writing()
            else:
                network.close_writing(self.handle)  # type: ignore[arg-type]
        if reading:
            self.ended = True
            if self.end is not None:
                self.end.end_reading()

    def release(self) -> None:
        """Ends the connection once nothing stands for it any more."""
        self.references -= 1
        if not self.references:
            self.disconnect()

    def disconnect(self) -> None:
        """Ends the connection; the stream could make another one."""
        if self.end is not None:
            self.end.close()
        handle, self.handle = self.handle, None
        if handle is not None:
            try:
                network.close(handle)
            except OSError:
                pass  # the host has ended it already


def _add(stream: Stream) -> int:
    global _next_descriptor
    descriptor = _next_descriptor
    _next_descriptor += 1
    streams[descriptor] = stream
    return descriptor


def _find(descriptor: int) -> Stream:
    stream = streams.get(descriptor)
    if stream is None:
        raise OSError(errno.EBADF, "Bad file descriptor")
    return stream


def close(descriptor: int, /) -> None:
    """Closes a virtual descriptor, such as `detach` returned."""
    stream = _find(operator.index(descriptor))
    del streams[descriptor]
    stream.release()


def dup(descriptor: int, /) -> int:
    """Makes another virtual descriptor of the same stream."""
    stream = _find(operator.index(descriptor))
    stream.references += 1
    return _add(stream)


def _timed_out() -> TimeoutError:
    return TimeoutError("timed out")


def _would_block() -> BlockingIOError:
    return BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


class _Deadline:
    """What is left of the time that one call may take."""

    __slots__ = ("_end", "_timeout")

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._end = _now() + timeout if timeout else None

    def left(self) -> float | None:
        """Seconds that are left; zero for a socket that never waits, `None` for one without end.

        Raises:
            TimeoutError: Nothing is left.
        """
        if self._end is None:
            return self._timeout
        left = self._end - _now()
        if left <= 0:
            raise _timed_out()
        return left


class socket:
    """What `socket.socket` of the standard library derives from.

    Its methods call each other by the class, as those of the C class do: `ssl.SSLSocket` overrides
    them, and its handshake goes through the ones below.
    """

    __slots__ = (
        "_descriptor", "_sock_family", "_sock_options", "_sock_proto", "_sock_timeout", "_sock_type"
    )  # fmt: skip

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        family = _socket.AF_INET if family == -1 else family
        type = _socket.SOCK_STREAM if type == -1 else type
        if fileno is not None and _find(operator.index(fileno)).end is not None:
            end = streams[fileno].end
            family = _AF_UNIX
            type = _socket.SOCK_DGRAM if end.keeps_messages else type  # type: ignore[union-attr]
        if family not in (_socket.AF_INET, _socket.AF_INET6, _AF_UNIX):
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        flags = getattr(_socket, "SOCK_NONBLOCK", 0) | getattr(_socket, "SOCK_CLOEXEC", 0)
        if type & ~flags == _SOCK_RAW:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        if not 0 < type & ~flags < _SOCK_MAX:
            raise OSError(errno.EINVAL, "Invalid argument")
        if type & ~flags not in (_socket.SOCK_STREAM, _socket.SOCK_DGRAM):
            raise OSError(errno.ESOCKTNOSUPPORT, "Socket type not supported")
        is_waiting = not type & getattr(_socket, "SOCK_NONBLOCK", 0)
        self._sock_family, self._sock_type = family, type & ~flags
        self._sock_proto = max(proto, 0)
        self._sock_timeout = _default_timeout if is_waiting else 0.0
        self._sock_options: dict[tuple[int, int], int | bytes] = {}
        self._descriptor = _add(Stream()) if fileno is None else fileno

    family = property(lambda self: self._sock_family)
    type = property(lambda self: self._sock_type)
    proto = property(lambda self: self._sock_proto)
    timeout = property(lambda self: self._sock_timeout)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) in streams:
            socket.close(self)

    def __repr__(self) -> str:
        return (
            f"<socket object, fd={self._descriptor}, family={self._sock_family}, "
            f"type={self._sock_type}, proto={self._sock_proto}>"
        )

    # Lifetime

    def fileno(self) -> int:
        """Returns the virtual descriptor, -1 once the socket is closed."""
        return self._descriptor

    def detach(self) -> int:
        """Gives the descriptor away; the socket is closed, the connection is not."""
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor

    def close(self) -> None:
        """Closes the socket; the connection ends with the last descriptor of it."""
        descriptor = socket.detach(self)
        if descriptor >= 0:
            close(descriptor)

    def shutdown(self, how: int, /) -> None:
        """Ends one or both directions of the connection."""
        if how not in (_socket.SHUT_RD, _socket.SHUT_WR, _socket.SHUT_RDWR):
            raise OSError(errno.EINVAL, "Invalid argument")
        stream = socket._connected_stream(self)
        stream.shut(reading=how != _socket.SHUT_WR, writing=how != _socket.SHUT_RD)

    def _connected_stream(self) -> Stream:
        stream = _find(self._descriptor)
        if not stream.is_connected:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return stream

    # Connecting

    def connect(self, address: Any, /) -> None:
        """Connects to a host and a port.

        Raises:
            OSError: The host is not there, or this run may not reach it.
        """
        stream = _find(self._descriptor)
        if stream.handle is not None:
            return socket._connect_again(self, stream)
        socket._start(self, stream, address)
        if self._sock_timeout == 0:
            raise BlockingIOError(errno.EINPROGRESS, "Operation now in progress")
        if not _is_ready(stream, network.WRITE, self._sock_timeout):
            raise _timed_out()
        try:
            network.write(stream.handle, b"")  # type: ignore[arg-type]
        except OSError:
            stream.disconnect()
            raise
        return None

    def connect_ex(self, address: Any, /) -> int:
        """Connects, and returns the number of the error, zero for none."""
        try:
            socket.connect(self, address)
        except _socket.gaierror:
            raise
        except TimeoutError as error:
            return error.errno or errno.EAGAIN
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def _start(self, stream: Stream, address: Any) -> None:
        if self._sock_family == _AF_UNIX:
            raise _nobody_listens(address)
        if not isinstance(address, tuple):
            raise TypeError(f"connect(): AF_INET address must be tuple, not {type(address).__name__}")
        if not 2 <= len(address) <= 4:
            raise TypeError("AF_INET address must be a pair (host, port)")
        host, port = address[0], operator.index(address[1])
        if not 0 <= port <= 65535:
            raise OverflowError("connect(): port must be 0-65535.")
        if self._sock_type == _socket.SOCK_DGRAM:
            raise OSError(errno.ENETUNREACH, network.NO_DATAGRAMS)
        name = names.connectable(host)
        try:
            stream.handle = network.start(name, port)
        except OSError as error:
            if network.has_no_network(error) and names.is_loopback(name):
                raise ConnectionRefusedError(
                    errno.ECONNREFUSED, f"Connection refused: {network.NO_SERVERS}"
                ) from None
            raise
        is_long = self._sock_family == _socket.AF_INET6
        stream.address = (host, port, 0, 0) if is_long else (host, port)
        stream.ended = stream.is_shut = False

    def _connect_again(self, stream: Stream) -> None:
        """Tells how a connection stands that was begun before."""
        try:
            network.write(stream.handle, b"")  # type: ignore[arg-type]
        except OSError as error:
            if error.errno in _CONNECTING:
                raise BlockingIOError(errno.EALREADY, "Operation already in progress") from None
            stream.disconnect()
            raise
        raise OSError(errno.EISCONN, "Transport endpoint is already connected")

    def getpeername(self) -> tuple[Any, ...]:
        """Returns the address that the socket was connected to."""
        stream = socket._connected_stream(self)
        return "" if stream.end is not None else stream.address  # type: ignore[return-value]

    def getsockname(self) -> Any:
        """Returns the address of this end, which has none."""
        _find(self._descriptor)
        if self._sock_family == _AF_UNIX:
            return ""
        return ("::", 0, 0, 0) if self._sock_family == _socket.AF_INET6 else ("0.0.0.0", 0)

    # Bytes

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Reads at most `size` bytes; none at the end."""
        size = operator.index(size)
        if size < 0:
            raise ValueError("negative buffersize in recv")
        return b"".join(socket._receive(self, size, flags))

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Reads into a buffer; returns how many bytes came."""
        view = memoryview(buffer).cast("B")
        if nbytes < 0:
            raise ValueError("negative buffersize in recv_into")
        if nbytes > len(view):
            raise ValueError("buffer too small for requested bytes")
        position = 0
        for part in socket._receive(self, nbytes or len(view), flags):
            view[position : position + len(part)] = part
            position += len(part)
        return position

    def recvfrom(self, size: int, flags: int = 0, /) -> tuple[bytes, None]:
        """Reads as `recv` does; connections have no address for each message."""
        return socket.recv(self, size, flags), None

    def recvfrom_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> tuple[int, None]:
        """Reads as `recv_into` does."""
        return socket.recv_into(self, buffer, nbytes, flags), None

    def _receive(self, size: int, flags: int) -> list[memoryview]:
        stream = _find(self._descriptor)
        if self._sock_type == _socket.SOCK_DGRAM and stream.end is None:
            raise socket._nothing_comes(self)
        stream = socket._connected_stream(self)
        deadline = _Deadline(0.0 if flags & _MSG_DONTWAIT else self._sock_timeout)
        parts: list[memoryview] = []
        while size:
            if not stream.fill(size, deadline.left()):
                if parts:
                    break
                raise _would_block() if deadline.left() == 0 else _timed_out()
            part = stream.take(size, keep=bool(flags & _MSG_PEEK))
            parts.append(part)
            size -= len(part)
            if not part or not flags & _MSG_WAITALL or flags & _MSG_PEEK:
                break
        return parts

    def _nothing_comes(self) -> OSError:
        """How waiting for a datagram ends."""
        _find(self._descriptor)
        if self._sock_timeout is None:
            return OSError(errno.ENETDOWN, network.NO_DATAGRAMS)
        if self._sock_timeout == 0:
            return _would_block()
        clock.sleep(self._sock_timeout)
        return _timed_out()

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Writes as much as the connection takes; returns how many bytes that were."""
        deadline = _Deadline(0.0 if flags & _MSG_DONTWAIT else self._sock_timeout)
        return socket._send(self, memoryview(data).cast("B"), deadline)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Writes all of `data`."""
        deadline = _Deadline(0.0 if flags & _MSG_DONTWAIT else self._sock_timeout)
        view = memoryview(data).cast("B")
        while len(view):
            view = view[socket._send(self, view, deadline) :]

    def _send(self, view: memoryview, deadline: _Deadline) -> int:
        stream = _find(self._descriptor)
        if stream.end is None and self._sock_type == _socket.SOCK_DGRAM:
            raise OSError(errno.EDESTADDRREQ, "Destination address required")
        if not len(view) and not (stream.end is not None and stream.end.keeps_messages):
            if stream.is_shut or not stream.is_connected:
                raise BrokenPipeError(errno.EPIPE, "Broken pipe")
            return 0
        return stream.write(view, deadline.left)

    # Options

    def settimeout(self, seconds: Any, /) -> None:
        """Sets how long a call may wait: `None` without end, zero not at all."""
        self._sock_timeout = _checked_timeout(seconds)

    def gettimeout(self) -> float | None:
        """Returns how long a call may wait."""
        return self._sock_timeout

    def setblocking(self, flag: Any, /) -> None:
        """Lets calls wait without end, or not at all."""
        self._sock_timeout = None if flag else 0.0

    def getblocking(self) -> bool:
        """True if calls may wait."""
        return self._sock_timeout != 0

    def setsockopt(self, level: int, option: int, value: Any, optlen: int = 0, /) -> None:
        """Notes an option; none changes anything, as the gateway's connections have their own."""
        _find(self._descriptor)
        if value is None:
            value = bytes(optlen)
        self._sock_options[level, option] = value if isinstance(value, int) else bytes(value)

    def getsockopt(self, level: int, option: int, buflen: int = 0, /) -> Any:
        """Returns an option: the error of a connection that was begun, the type, what was set."""
        stream = _find(self._descriptor)
        noted = self._sock_options.get((level, option), 0)
        if isinstance(noted, bytes):
            return noted[:buflen] if buflen else int.from_bytes(noted[:4], "little", signed=True)
        value = noted
        if level == _socket.SOL_SOCKET and option == _socket.SO_TYPE:
            value = int(self._sock_type)
        elif level == _socket.SOL_SOCKET and option == _SO_ERROR and stream.handle is not None:
            try:
                network.write(stream.handle, b"")
            except OSError as error:
                if error.errno not in _CONNECTING:
                    value = error.errno or errno.EIO
        return (value & 0xFFFFFFFF).to_bytes(4, "little")[:buflen] if buflen else value

    def bind(self, address: Any, /) -> None:
        """Refuses: this machine has no address that others could reach."""
        _find(self._descriptor)
        if self._sock_family == _AF_UNIX:
            raise OSError(errno.EADDRNOTAVAIL, network.NO_SERVERS)
        if not isinstance(address, tuple):
            raise TypeError(f"bind(): AF_INET address must be tuple, not {type(address).__name__}")
        raise OSError(errno.EADDRNOTAVAIL, network.NO_SERVERS)

    def listen(self, backlog: int = 0, /) -> None:
        """Refuses: nobody could connect."""
        _find(self._descriptor)
        raise OSError(errno.ENOTSUP, network.NO_SERVERS)

    def _accept(self) -> Any:
        _find(self._descriptor)
        raise OSError(errno.EINVAL, "Invalid argument")

    def sendto(self, data: Any, *arguments: Any) -> int:
        """Refuses: there is nobody that a datagram could be sent to."""
        _find(self._descriptor)
        if _find(self._descriptor).end is not None:
            raise OSError(errno.EISCONN, "Transport endpoint is already connected")
        if self._sock_type == _socket.SOCK_DGRAM:
            raise OSError(errno.ENETUNREACH, network.NO_DATAGRAMS)
        return socket.send(self, data)


def socketpair(
    family: int | None = None, type: int = _socket.SOCK_STREAM, proto: int = 0, /
) -> tuple[socket, socket]:
    """Makes two sockets that are connected with each other."""
    if family is None:
        family = _AF_UNIX
    if family != _AF_UNIX:
        if family in (_socket.AF_INET, _socket.AF_INET6):
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
    one = socket(family, type, proto)  # checks the type
    ends = local_sockets.pair(one.type == _socket.SOCK_DGRAM)
    streams[one.fileno()].end = ends[0]
    other = socket(family, type, proto)
    streams[other.fileno()].end = ends[1]
    return one, other


def _nobody_listens(path: Any) -> Exception:
    """Why a socket of this machine cannot be connected to."""
    if not isinstance(path, (str, bytes, bytearray, memoryview)):
        return TypeError(f"a bytes-like object is required, not '{type(path).__name__}'")
    path = path if isinstance(path, str) else os.fsdecode(bytes(path))
    if os.path.exists(path):
        return ConnectionRefusedError(
            errno.ECONNREFUSED, f"Connection refused: {network.NO_PEERS}"
        )
    return FileNotFoundError(errno.ENOENT, f"No such file or directory: {network.NO_PEERS}")


def _is_ready(stream: Stream, mask: int, timeout: float | None) -> bool:
    return bool(network.poll([(stream.handle, mask)], timeout)[0])  # type: ignore[list-item]


def _checked_timeout(seconds: Any) -> float | None:
    if seconds is None:
        return None
    seconds = float(seconds)
    if math.isnan(seconds):
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("Timeout value out of range")
    if seconds > 1 << 32:
        raise OverflowError("timeout doesn't fit into C timeval")
    return seconds


def setdefaulttimeout(seconds: Any, /) -> None:
    """Sets the time that calls of new sockets may wait."""
    global _default_timeout
    _default_timeout = _checked_timeout(seconds)


def getdefaulttimeout() -> float | None:
    """Returns the time that calls of new sockets may wait."""
    return _default_timeout


def end_connections() -> None:
    """Ends every connection as if its other side had closed it.

    What is left of one is the end of a pair whose other end is closed: reading gives nothing, writing
    fails, and whoever waits for it is woken.
    """
    for stream in set(streams.values()):
        if stream.handle is not None:
            stream.disconnect()
            stream.end, other = local_sockets.pair(keeps_messages=False)
            other.close()


def forget() -> None:
    """Forgets the connections of a run; for rehearsals and tests."""
    global _default_timeout
    streams.clear()
    _default_timeout = None
    names.forget()


_CONSTANTS = {
    "AF_UNIX": _AF_UNIX,
    "INADDR_ALLHOSTS_GROUP": 0xE0000001,
    "INADDR_ANY": 0,
    "INADDR_BROADCAST": 0xFFFFFFFF,
    "INADDR_LOOPBACK": 0x7F000001,
    "INADDR_NONE": 0xFFFFFFFF,
    "IPPORT_RESERVED": 1024,
    "IPPORT_USERRESERVED": 5000,
    "IPV6_JOIN_GROUP": 20,
    "IPV6_LEAVE_GROUP": 21,
    "IPV6_MULTICAST_HOPS": 18,
    "IPV6_UNICAST_HOPS": 16,
    "IPV6_V6ONLY": 26,
    "IP_ADD_MEMBERSHIP": 35,
    "IP_DROP_MEMBERSHIP": 36,
    "IP_MULTICAST_IF": 32,
    "IP_MULTICAST_LOOP": 34,
    "IP_MULTICAST_TTL": 33,
    "IP_TOS": 1,
    "IP_TTL": 2,
    "MSG_DONTWAIT": _MSG_DONTWAIT,
    "MSG_NOSIGNAL": 0x4000,
    "MSG_OOB": 0x10000,
    "SOCK_RAW": _SOCK_RAW,
    "SOMAXCONN": 4096,
    "SO_ACCEPTCONN": 30,
    "SO_BROADCAST": 6,
    "SO_DOMAIN": 39,
    "SO_ERROR": _SO_ERROR,
    "SO_KEEPALIVE": 9,
    "SO_LINGER": 13,
    "SO_OOBINLINE": 10,
    "SO_PROTOCOL": 38,
    "SO_RCVBUF": 8,
    "SO_RCVTIMEO": 20,
    "SO_REUSEADDR": 2,
    "SO_REUSEPORT": 15,
    "SO_SNDBUF": 7,
    "SO_SNDTIMEO": 21,
    "TCP_KEEPIDLE": 4,
}
"""Constants that libraries use and WASI does not have."""


def install() -> None:
    """Completes `_socket`. Comes before anything imports `socket`."""
    for function in (close, dup, setdefaulttimeout, getdefaulttimeout, socketpair):
        setattr(_socket, function.__name__, function)
    for name in names.__all__:
        setattr(_socket, name, getattr(names, name))
    socket.__module__ = "_socket"
    _socket.socket = _socket.SocketType = socket  # type: ignore[misc]
    for name, value in _CONSTANTS.items():
        if not hasattr(_socket, name):
            setattr(_socket, name, value)
