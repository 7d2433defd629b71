"""The C module `_ssl`, without cryptography: the gateway speaks TLS.

The standard library's `ssl.py` stays as it is. A handshake writes a *hello* into the stream and
reads the gateway's answer; afterwards bytes pass unchanged. The hello says which name the
certificate must have, whether it is checked, and which ALPN protocols are offered. It begins with
0x16, as a TLS handshake does, and no HTTP/1.1 message begins so.

As the hello is in the stream, whatever can carry TLS works: `wrap_socket`, `wrap_bio` (asyncio,
anyio) and `start_tls`.

What the gateway does not do for a program is refused here and not ignored: client certificates,
lists of revoked certificates, and being a server. A context that has loaded no authorities trusts
none; one that has loaded its own trusts those alone (see `tls_trust`).
"""

from __future__ import annotations

import binascii
import json
import os
import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import _socket
from _wardian import tls_constants, tls_trust
from _wardian.tls_constants import (
    CERT_NONE,
    CERT_OPTIONAL,
    CERT_REQUIRED,
    ENCODING_DER,
    HOSTFLAG_NO_PARTIAL_WILDCARDS,
    OP_ALL,
    OP_ENABLE_MIDDLEBOX_COMPAT,
    OP_IGNORE_UNEXPECTED_EOF,
    OP_NO_COMPRESSION,
    OP_NO_SSLv3,
    PROTO_MAXIMUM_SUPPORTED,
    PROTO_MINIMUM_SUPPORTED,
    PROTO_TLSv1_2,
    PROTO_TLSv1_3,
    PROTOCOL_TLS_CLIENT,
    SSL_ERROR_EOF,
    SSL_ERROR_SSL,
    SSL_ERROR_WANT_READ,
    SSL_ERROR_WANT_WRITE,
    VERIFY_CRL_CHECK_CHAIN,
    VERIFY_X509_TRUSTED_FIRST,
)

_HELLO = 0x16
_HEADER = 5
_ANSWER_MAX = 1 << 20
"""Longest answer to a hello. It holds a certificate, which has some kilobytes."""

_VERSIONS = {PROTO_TLSv1_2: "TLSv1.2", PROTO_TLSv1_3: "TLSv1.3"}
"""The versions that the gateway speaks."""

_NO_SERVER = "a program in the sandbox cannot be a server"
_NO_CLIENT_CERTIFICATES = (
    "client certificates are not supported: a key cannot leave the sandbox, and the gateway speaks "
    "TLS with keys of its operator alone"
)
_MANY_AUTHORITIES = (
    "a context trusts the usual public authorities, such as those of `certifi.where()`, or up to 64 "
    "of its own"
)
_NO_FOLDERS = "a folder of authorities cannot be read here: name a file with `cafile`"
_MOST_AUTHORITIES = 64
_AUTHORITIES_MAX = 90_000
"""Bytes of authorities that fit into a hello."""


class SSLError(OSError):
    """An error of TLS; `reason` and `library` say where it comes from."""

    library: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        return self.strerror if isinstance(self.strerror, str) else str(self.args)


class SSLZeroReturnError(SSLError):
    """The other side has ended TLS."""


class SSLWantReadError(SSLError):
    """The operation goes on once there is something to read."""


class SSLWantWriteError(SSLError):
    """The operation goes on once something can be written."""


class SSLSyscallError(SSLError):
    """A system call has failed."""


class SSLEOFError(SSLError):
    """The connection has ended in the middle of TLS."""


class SSLCertVerificationError(SSLError, ValueError):
    """The certificate of the server is not to be trusted."""

    verify_code = 0
    verify_message = ""


_EXCEPTIONS = (
    SSLError,
    SSLZeroReturnError,
    SSLWantReadError,
    SSLWantWriteError,
    SSLSyscallError,
    SSLEOFError,
    SSLCertVerificationError,
)
for _kind in _EXCEPTIONS:
    _kind.__module__ = "ssl"


def _failure(reason: str, message: str) -> SSLError:
    error = SSLError(SSL_ERROR_SSL, f"[SSL: {reason}] {message}")
    error.library, error.reason = "SSL", reason
    return error


def _untrusted(code: int, message: str) -> SSLCertVerificationError:
    reason = "CERTIFICATE_VERIFY_FAILED"
    error = SSLCertVerificationError(
        SSL_ERROR_SSL, f"[SSL: {reason}] certificate verify failed: {message}"
    )
    error.library, error.reason = "SSL", reason
    error.verify_code, error.verify_message = code, message
    return error


def _reported(error: dict[str, Any]) -> SSLError:
    """The exception for what the gateway says about a failed handshake."""
    if "verify_code" in error:
        return _untrusted(int(error["verify_code"]), str(error.get("verify_message", "")))
    reason = str(error.get("reason", "SSLV3_ALERT_HANDSHAKE_FAILURE"))
    return _failure(reason, str(error.get("message", "the handshake failed")))


def _want_read() -> SSLWantReadError:
    return SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)")


def frame(message: dict[str, Any]) -> bytes:
    """Writes a hello or an answer: 0x16, the length in four bytes, JSON."""
    text = json.dumps(message).encode()
    return bytes((_HELLO,)) + len(text).to_bytes(4, "big") + text


class MemoryBIO:
    """Bytes on their way between an `SSLObject` and whatever carries them."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._has_ended = False

    @property
    def pending(self) -> int:
        """Number of bytes in it."""
        return len(self._data)

    @property
    def eof(self) -> bool:
        """True once all bytes are read and no more will come."""
        return self._has_ended and not self._data

    def read(self, size: int = -1) -> bytes:
        """Takes at most `size` bytes out."""
        if size < 0 or size >= len(self._data):
            data, self._data = bytes(self._data), bytearray()
        else:
            data = bytes(memoryview(self._data)[:size])
            del self._data[:size]
        return data

    def write(self, data: Any) -> int:
        """Puts bytes in."""
        if self._has_ended:
            raise SSLError(SSL_ERROR_SSL, "cannot write() after write_eof()")
        view = memoryview(data).cast("B")
        self._data += view
        return len(view)

    def write_eof(self) -> None:
        """Says that no more bytes come."""
        self._has_ended = True


class _MemoryStream:
    """A pair of `MemoryBIO` as something to read from and to write to."""

    def __init__(self, incoming: MemoryBIO, outgoing: MemoryBIO) -> None:
        self._incoming = incoming
        self.write = outgoing.write

    def read(self, size: int) -> bytes:
        if not self._incoming.pending and not self._incoming.eof:
            raise _want_read()
        return self._incoming.read(size)

    def read_into(self, buffer: Any, size: int) -> int:
        data = self.read(size)
        memoryview(buffer).cast("B")[: len(data)] = data
        return len(data)


class _SocketStream:
    """A socket below its `SSLSocket`."""

    def __init__(self, sock: Any) -> None:
        self._base: Any = _socket.socket
        self._socket = weakref.ref(sock)

    def read(self, size: int) -> bytes:
        data: bytes = self._call(self._base.recv, size)
        return data

    def read_into(self, buffer: Any, size: int) -> int:
        count: int = self._call(self._base.recv_into, buffer, size)
        return count

    def _call(self, receive: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return receive(self._socket(), *arguments)
        except TimeoutError:
            raise TimeoutError("The read operation timed out") from None
        except BlockingIOError:
            raise _want_read() from None

    def write(self, data: Any) -> int:
        try:
            sent: int = self._base.send(self._socket(), data)
        except TimeoutError:
            raise TimeoutError("The write operation timed out") from None
        except BlockingIOError:
            raise SSLWantWriteError(
                SSL_ERROR_WANT_WRITE, "The operation did not complete (write)"
            ) from None
        return sent


class _SSLSocket:
    """One side of a connection: what `ssl.SSLSocket` and `ssl.SSLObject` are made of."""

    def __init__(
        self, context: Any, stream: Any, server_side: bool, server_hostname: str | None
    ) -> None:
        if server_side:
            raise _failure("UNSUPPORTED_PROTOCOL", _NO_SERVER)
        if context.check_hostname and not server_hostname:
            raise ValueError("check_hostname requires server_hostname")
        self.context = context
        self.server_hostname = server_hostname
        self.server_side = False
        self.owner: Any = None
        self.session: Any = None
        self.session_reused = False
        self._stream = stream
        self._to_send = memoryview(b"")
        self._answer = bytearray()
        self._has_begun = False
        self._agreed: dict[str, Any] | None = None

    # The handshake

    def do_handshake(self) -> None:
        """Tells the gateway what is wanted, and reads what was agreed upon.

        Raises:
            SSLError: The handshake failed, or the certificate is not to be trusted.
        """
        if self._agreed is not None:
            return
        if not self._has_begun:
            self.context._ensure_it_can_be_met()
            self._to_send = memoryview(frame(self.context._hello(self.server_hostname)))
            self._has_begun = True
        while self._to_send:
            self._to_send = self._to_send[self._stream.write(self._to_send) :]
        while (missing := self._missing()) > 0:
            data = self._stream.read(missing)
            if not data:
                raise SSLEOFError(SSL_ERROR_EOF, "EOF occurred in violation of protocol")
            self._answer += data
            if self._answer[0] != _HELLO:
                raise _failure("WRONG_VERSION_NUMBER", "wrong version number")
        answer = json.loads(bytes(self._answer[_HEADER:]))
        if "error" in answer:
            raise _reported(answer["error"])
        self.context._ensure_version(answer.get("version"))
        self._agreed = answer

    def _missing(self) -> int:
        """Bytes of the gateway's answer that have not come yet."""
        missing = _HEADER - len(self._answer)
        if missing > 0:
            return missing
        length = int.from_bytes(self._answer[1:_HEADER], "big")
        if length > _ANSWER_MAX:
            raise _failure("BAD_LENGTH", "bad length")
        return missing + length

    # Bytes

    def read(self, size: int = 1024, buffer: Any = None) -> Any:
        """Reads at most `size` bytes, or into `buffer`."""
        self.do_handshake()
        if size < 0:
            raise ValueError("size should not be negative")
        if buffer is None:
            return self._stream.read(size) if size else b""
        size = size or len(buffer)
        return self._stream.read_into(buffer, size) if size else 0

    def write(self, data: Any) -> int:
        """Writes as much as is taken; returns how many bytes that were."""
        self.do_handshake()
        view = memoryview(data).cast("B")
        sent: int = self._stream.write(view) if len(view) else 0
        return sent

    def pending(self) -> int:
        """Returns zero: what was read ahead lies below, where `select` sees it."""
        return 0

    def shutdown(self) -> Any:
        """Ends TLS. The connection ends with the socket; nothing is written for it."""
        return self._stream._socket() if isinstance(self._stream, _SocketStream) else None

    # What was agreed upon

    def _agreed_on(self, name: str) -> Any:
        return None if self._agreed is None else self._agreed.get(name)

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Returns the certificate of the server, as the gateway tells it."""
        if self._agreed is None:
            raise ValueError("handshake not done yet")
        certificate = self._agreed.get("certificate") or {}
        if binary_form:
            der = certificate.get("der")
            return None if der is None else binascii.a2b_base64(der)
        if self.context.verify_mode == CERT_NONE:
            return {}
        return _with_tuples(certificate.get("fields") or {})

    def selected_alpn_protocol(self) -> Any:
        """Returns the protocol that was agreed upon, `None` for none."""
        return self._agreed_on("alpn")

    def version(self) -> Any:
        """Returns the version of TLS, such as `TLSv1.3`."""
        return self._agreed_on("version")

    def cipher(self) -> tuple[Any, ...] | None:
        """Returns the name of the cipher, its protocol and its bits."""
        cipher = self._agreed_on("cipher")
        return tuple(cipher) if cipher else None

    def _nothing(self, *arguments: Any) -> None:
        """The gateway does not tell it."""

    compression = shared_ciphers = get_channel_binding = _nothing
    group = client_sigalg = server_sigalg = _nothing

    def uses_ktls_for_send(self) -> bool:
        """Returns false: the kernel has no part in it."""
        return False

    uses_ktls_for_recv = uses_ktls_for_send

    def verify_client_post_handshake(self) -> None:
        """Refuses: only servers ask for it."""
        raise _failure("WRONG_SSL_VERSION", _NO_SERVER)

    def get_verified_chain(self) -> list[Any]:
        """Returns the certificates that the gateway has told: that of the server."""
        der = self.getpeercert(True) if self._agreed is not None else None
        return [] if der is None else [Certificate(der)]

    get_unverified_chain = get_verified_chain


def _with_tuples(value: Any) -> Any:
    """JSON's lists as the tuples that a certificate's fields are made of."""
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return tuple(_with_tuples(item) for item in value) if isinstance(value, list) else value


def _kept(name: str) -> Any:
    """An attribute that only keeps its value, as a data descriptor: `ssl.py` calls `__set__`."""
    return property(
        lambda self: self._values[name], lambda self, value: self._values.__setitem__(name, value)
    )


class _SSLContext:
    """Settings of connections. `ssl.SSLContext` derives from it."""

    def __new__(cls, protocol: int = tls_constants.PROTOCOL_TLS) -> Any:
        self = object.__new__(cls)
        is_client = protocol == PROTOCOL_TLS_CLIENT
        self._values = {
            "protocol": protocol,
            "verify_mode": CERT_REQUIRED if is_client else CERT_NONE,
            "check_hostname": is_client,
            "options": OP_ALL
            | OP_NO_SSLv3
            | OP_NO_COMPRESSION
            | OP_ENABLE_MIDDLEBOX_COMPAT
            | OP_IGNORE_UNEXPECTED_EOF,
            "verify_flags": VERIFY_X509_TRUSTED_FIRST,
            "minimum_version": PROTO_TLSv1_2,
            "maximum_version": PROTO_MAXIMUM_SUPPORTED,
            "num_tickets": 2,
            "post_handshake_auth": False,
            "keylog_filename": None,
            "sni_callback": None,
            "msg_callback": None,
            "host_flags": HOSTFLAG_NO_PARTIAL_WILDCARDS,
        }
        self._alpn = []
        self._trusts_public = False
        self._authorities = []
        return self

    _values: dict[str, Any]
    _alpn: list[str]
    _trusts_public: bool
    _authorities: list[bytes]

    protocol = property(lambda self: self._values["protocol"])
    security_level = property(lambda self: 2)
    options = _kept("options")
    verify_flags = _kept("verify_flags")
    minimum_version = _kept("minimum_version")
    maximum_version = _kept("maximum_version")
    num_tickets = _kept("num_tickets")
    post_handshake_auth = _kept("post_handshake_auth")
    keylog_filename = _kept("keylog_filename")
    sni_callback = _kept("sni_callback")
    _msg_callback = _kept("msg_callback")
    _host_flags = _kept("host_flags")

    @property
    def verify_mode(self) -> Any:
        """Whether the server's certificate is checked."""
        return self._values["verify_mode"]

    @verify_mode.setter
    def verify_mode(self, value: Any) -> None:
        if value not in (CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED):
            raise ValueError("invalid value for verify_mode")
        if value == CERT_NONE and self.check_hostname:
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._values["verify_mode"] = value

    @property
    def check_hostname(self) -> bool:
        """Whether the certificate has to be that of the host."""
        checked: bool = self._values["check_hostname"]
        return checked

    @check_hostname.setter
    def check_hostname(self, value: Any) -> None:
        if value and self.verify_mode == CERT_NONE:
            self._values["verify_mode"] = CERT_REQUIRED
        self._values["check_hostname"] = bool(value)

    def _versions(self) -> list[str]:
        """The versions that the program allows and the gateway speaks."""
        lowest, highest = int(self.minimum_version), int(self.maximum_version)
        lowest = 0 if lowest == PROTO_MINIMUM_SUPPORTED else lowest
        lowest = PROTO_TLSv1_3 if lowest == PROTO_MAXIMUM_SUPPORTED else lowest
        highest = PROTO_TLSv1_3 if highest == PROTO_MAXIMUM_SUPPORTED else highest
        highest = PROTO_TLSv1_2 if highest == PROTO_MINIMUM_SUPPORTED else highest
        off = {
            PROTO_TLSv1_2: tls_constants.OP_NO_TLSv1_2,
            PROTO_TLSv1_3: tls_constants.OP_NO_TLSv1_3,
        }
        return [
            name
            for number, name in _VERSIONS.items()
            if lowest <= number <= highest and not self.options & off[number]
        ]

    def _ensure_it_can_be_met(self) -> None:
        """Refuses what the gateway cannot do as the program wants it.

        Raises:
            SSLError: It asks for a version that is not spoken, for lists of revoked certificates,
                or to check certificates against no authorities at all.
        """
        if not self._versions():
            raise _failure("NO_PROTOCOLS_AVAILABLE", "no protocols available")
        if self.verify_mode == CERT_NONE:
            return
        if not self._trusts_public and not self._authorities:
            raise _untrusted(20, "unable to get local issuer certificate")
        if self.verify_flags & VERIFY_CRL_CHECK_CHAIN:
            raise _untrusted(3, "unable to get certificate CRL")

    def _ensure_version(self, version: Any) -> None:
        if isinstance(version, str) and version not in self._versions():
            raise _failure("UNSUPPORTED_PROTOCOL", "unsupported protocol")

    def _hello(self, server_hostname: str | None) -> dict[str, Any]:
        return {
            "server_hostname": server_hostname,
            "verify": self.verify_mode != CERT_NONE,
            "check_hostname": self.check_hostname,
            "alpn": self._alpn,
            "authorities": [] if self._trusts_public else self._authorities_as_text(),
        }

    def _authorities_as_text(self) -> list[str]:
        return [binascii.b2a_base64(der, newline=False).decode() for der in self._authorities]

    def _wrap_socket(
        self, sock: Any, server_side: bool, server_hostname: Any = None, **kwargs: Any
    ) -> _SSLSocket:
        return self._wrapped(_SocketStream(sock), server_side, server_hostname, kwargs)

    def _wrap_bio(
        self,
        incoming: MemoryBIO,
        outgoing: MemoryBIO,
        server_side: bool,
        server_hostname: Any = None,
        **kwargs: Any,
    ) -> _SSLSocket:
        stream = _MemoryStream(incoming, outgoing)
        return self._wrapped(stream, server_side, server_hostname, kwargs)

    def _wrapped(
        self, stream: Any, server_side: bool, server_hostname: Any, kwargs: dict[str, Any]
    ) -> _SSLSocket:
        if isinstance(server_hostname, (bytes, bytearray)):
            server_hostname = server_hostname.decode("ascii")
        wrapped = _SSLSocket(self, stream, server_side, server_hostname)
        wrapped.owner = kwargs.get("owner")
        return wrapped

    def _set_alpn_protocols(self, protocols: bytes) -> None:
        """Takes names that each have their length before them."""
        self._alpn = []
        while protocols:
            length = protocols[0]
            self._alpn.append(bytes(protocols[1 : 1 + length]).decode("latin-1"))
            protocols = protocols[1 + length :]

    # Authorities and keys

    def set_default_verify_paths(self) -> None:
        """Trusts what the gateway trusts."""
        self._trusts_public = True

    def load_verify_locations(
        self, cafile: Any = None, capath: Any = None, cadata: Any = None
    ) -> None:
        """Trusts the authorities of a bundle.

        Beside the public ones, others count for nothing: a context has either.

        Raises:
            SSLError: It holds no certificate, or too many.
        """
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        if capath is not None:
            raise _failure("NO_FOLDERS", _NO_FOLDERS)
        if cafile is not None:
            with open(cafile, "rb") as file:
                self._trust(tls_trust.certificates(file.read()))
        if cadata is not None:
            is_text = isinstance(cadata, str)
            self._trust(
                tls_trust.certificates(cadata.encode("ascii")) if is_text else [bytes(cadata)]
            )

    def _trust(self, authorities: list[bytes]) -> None:
        if not authorities:
            raise _failure("NO_CERTIFICATE_OR_CRL_FOUND", "no certificate or crl found")
        if tls_trust.is_public(authorities):
            self._trusts_public = True
            return
        own = list(dict.fromkeys((*self._authorities, *authorities)))
        if len(own) > _MOST_AUTHORITIES or sum(map(len, own)) > _AUTHORITIES_MAX:
            raise _failure("TOO_MANY_AUTHORITIES", _MANY_AUTHORITIES)
        self._authorities = own

    def load_cert_chain(self, certfile: Any, keyfile: Any = None, password: Any = None) -> None:
        """Refuses.

        Raises:
            FileNotFoundError: There is no such file.
            SSLError: There is.
        """
        for path in (certfile, keyfile):
            if path is not None:
                os.stat(path)
        raise _failure("CLIENT_CERTIFICATES", _NO_CLIENT_CERTIFICATES)

    def get_ca_certs(self, binary_form: bool = False) -> list[Any]:
        """Returns nothing: the gateway does not tell what it trusts."""
        return []

    def cert_store_stats(self) -> dict[str, int]:
        """Returns how many certificates this side knows: none."""
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def session_stats(self) -> dict[str, int]:
        """Returns counts of sessions, of which there are none."""
        names = ("number", "connect", "connect_good", "connect_renegotiate", "accept", "hits")
        return dict.fromkeys(names, 0)

    def _ignore(self, *arguments: Any) -> None:
        """The gateway has its own choice of ciphers and the like, which is a safe one."""

    set_ciphers = set_ciphersuites = set_groups = set_ecdh_curve = load_dh_params = _ignore
    set_client_sigalgs = set_server_sigalgs = _ignore

    def get_ciphers(self) -> list[Any]:
        """Returns nothing: the gateway chooses."""
        return []

    def get_groups(self, *, include_aliases: bool = False) -> list[Any]:
        """Returns nothing: the gateway chooses."""
        return []

    def set_psk_client_callback(self, callback: Any) -> None:
        """Refuses keys that are known to both sides."""
        raise NotImplementedError("keys that both sides know are not supported")

    set_psk_server_callback = set_psk_client_callback


class SSLSession:
    """A session that could be resumed; the gateway keeps its own."""


class Certificate:
    """A certificate as the gateway told it."""

    def __init__(self, der: bytes) -> None:
        self._der = der

    def public_bytes(self, format: int = tls_constants.ENCODING_PEM) -> Any:
        """Returns the certificate as DER or PEM."""
        if format == ENCODING_DER:
            return self._der
        text = binascii.b2a_base64(self._der, newline=False).decode()
        lines = [text[start : start + 64] for start in range(0, len(text), 64)]
        return "\n".join(
            ("-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", "")
        )


_OBJECTS = {
    "1.3.6.1.5.5.7.3.1": (129, "serverAuth", "TLS Web Server Authentication"),
    "1.3.6.1.5.5.7.3.2": (130, "clientAuth", "TLS Web Client Authentication"),
    "2.5.4.3": (13, "CN", "commonName"),
    "2.5.29.17": (85, "subjectAltName", "X509v3 Subject Alternative Name"),
}


def txt2obj(txt: str, name: bool = False) -> tuple[int, str, str, str]:
    """Looks up an object identifier."""
    for identifier, (number, short, long) in _OBJECTS.items():
        if txt == identifier or (name and txt in (short, long)):
            return number, short, long, identifier
    raise ValueError(f"unknown object '{txt[:80]}'")


def nid2obj(nid: int) -> tuple[int, str, str, str]:
    """Looks up an object by OpenSSL's number."""
    if nid < 0:
        raise ValueError("NID must be positive")
    for identifier, (number, short, long) in _OBJECTS.items():
        if nid == number:
            return number, short, long, identifier
    raise ValueError(f"unknown NID {nid}")


def get_default_verify_paths() -> tuple[str, str, str, str]:
    """Returns where OpenSSL looks for authorities; nothing is there."""
    return "SSL_CERT_FILE", "/etc/ssl/cert.pem", "SSL_CERT_DIR", "/etc/ssl/certs"


def get_sigalgs() -> list[str]:
    """Returns nothing: the gateway chooses."""
    return []


def RAND_status() -> bool:
    """Returns true: there is always enough randomness."""
    return True


def RAND_add(string: Any, entropy: float, /) -> None:
    """Needs nothing."""


def RAND_bytes(n: int, /) -> bytes:
    """Returns random bytes."""
    if n < 0:
        raise ValueError("num must be positive")
    return os.urandom(n)


def RAND_pseudo_bytes(n: int, /) -> tuple[bytes, bool]:
    """Returns random bytes, for Python before 3.12."""
    return RAND_bytes(n), True


_PUBLIC = (
    MemoryBIO,
    SSLSession,
    Certificate,
    _SSLContext,
    txt2obj,
    nid2obj,
    get_default_verify_paths,
    get_sigalgs,
    RAND_status,
    RAND_add,
    RAND_bytes,
    RAND_pseudo_bytes,
    *_EXCEPTIONS,
)


def install() -> None:
    """Makes `_ssl` importable. Comes before anything asks for `ssl`."""
    module: Any = ModuleType("_ssl", "TLS as the gateway speaks it.")
    for name, value in vars(tls_constants).items():
        if not name.startswith("__"):
            setattr(module, name, value)
    for item in _PUBLIC:
        setattr(module, item.__name__, item)
        if item not in _EXCEPTIONS:
            item.__module__ = "_ssl"
    sys.modules["_ssl"] = module
