"""TLS: `ssl` on top of hellos to the gateway."""

from __future__ import annotations

import socket
import ssl
import warnings
from pathlib import Path
from unittest import mock

from _wardian import tls_trust
from tests.test_sockets import Networked, ask


class Contexts(Networked):
    def test_they_are_configured_as_usual(self):
        context = ssl.create_default_context()
        self.assertEqual(context.verify_mode, ssl.CERT_REQUIRED)
        self.assertTrue(context.check_hostname)
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_TICKET
        self.assertIn(ssl.OP_NO_TICKET, context.options)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.assertIs(context.minimum_version, ssl.TLSVersion.TLSv1_3)
        context.set_ciphers("ECDHE+AESGCM")
        with self.assertRaises(ValueError):
            context.verify_mode = ssl.CERT_NONE
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.check_hostname = True
        self.assertEqual(context.verify_mode, ssl.CERT_REQUIRED)
        with self.assertRaises(ValueError):
            context.verify_mode = 7
        self.assertIn("SSLContext", repr(context))
        self.assertEqual(len(ssl.RAND_bytes(8)), 8)

    def test_private_authorities_are_told_to_the_gateway(self):
        with open("ca.pem", "w") as file:
            file.write("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
        with open("none.pem", "w") as file:
            file.write("nothing")

        def told(context):
            self.shake("a.test", context)
            return max(self.gateway.connections.items())[1].tls["authorities"]

        for options, authorities in (
            ({"cafile": "ca.pem"}, ["MIIB"]),
            ({"cadata": Path("ca.pem").read_text()}, ["MIIB"]),
            ({"cadata": b"0\x82"}, ["MII="]),
        ):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(**options)
            with self.subTest(options):
                self.assertEqual(told(context), authorities)
        context.load_verify_locations("ca.pem")
        self.assertEqual(told(context), ["MII=", "MIIB"])
        context.load_default_certs()
        self.assertEqual(told(context), [], "the public ones are enough")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        with self.assertRaisesRegex(ssl.SSLError, "folder"):
            context.load_verify_locations(capath=".")
        with self.assertRaisesRegex(ssl.SSLError, "up to 64"):
            context.load_verify_locations(cadata=b"x" * 100_000)
        for number in range(64):
            context.load_verify_locations(cadata=bytes([number]))
        with self.assertRaisesRegex(ssl.SSLError, "up to 64"):
            context.load_verify_locations(cadata=b"one more")
        with self.assertRaisesRegex(ssl.SSLError, "no certificate"):
            context.load_verify_locations("none.pem")
        with self.assertRaises(FileNotFoundError):
            context.load_verify_locations("/no/such/file")
        with self.assertRaises(TypeError):
            context.load_verify_locations()

    def test_the_usual_bundle_is_taken_and_one_with_a_few_of_its_roots_is_not(self):
        roots = sorted(tls_trust._ROOTS)
        self.assertEqual(len(roots), 14)
        for count, is_public in [(14, True), (10, True), (9, False), (1, False), (0, False)]:
            with self.subTest(count), self._fingerprints(roots[:count]):
                text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" * 20
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.load_verify_locations(cadata=text)
                self.shake("a.test", context)
                told = max(self.gateway.connections.items())[1].tls["authorities"]
                self.assertEqual(told == [], is_public)

    def _fingerprints(self, fingerprints):
        """Lets certificates have these fingerprints, one after another."""
        left = [*fingerprints, *(bytes([i]) for i in range(20))]
        hashed = mock.Mock()
        hashed.return_value.digest.side_effect = left
        return mock.patch.object(tls_trust.hashlib, "sha256", hashed)

    def test_client_certificates_are_refused_with_the_reason(self):
        context = ssl.create_default_context()
        with open("key.pem", "w") as file:
            file.write("key")
        with self.assertRaisesRegex(ssl.SSLError, "client certificates are not supported"):
            context.load_cert_chain("key.pem")
        with self.assertRaises(FileNotFoundError):
            context.load_cert_chain("/no/such/file")

    def shake(self, name, context=None, port=443, timeout=0.2):
        raw = self.connect(name, port, timeout=timeout)
        context = context or ssl.create_default_context()
        link = context.wrap_socket(raw, server_hostname=name)
        self.addCleanup(link.close)
        return link

    def test_a_context_without_authorities_trusts_none(self):
        with self.assertRaises(ssl.SSLCertVerificationError) as caught:
            self.shake("a.test", ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        self.assertEqual(caught.exception.verify_code, 20)

    def test_what_the_gateway_cannot_meet_is_refused_and_not_ignored(self):
        context = ssl.create_default_context()
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        with self.assertRaisesRegex(ssl.SSLError, "CRL"):
            self.shake("a.test", context)
        context = ssl.create_default_context()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
        with self.assertRaisesRegex(ssl.SSLError, "no protocols available"):
            self.shake("a.test", context)
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.assertEqual(self.shake("a.test", context).version(), "TLSv1.3")
        with self.assertRaisesRegex(ssl.SSLError, "unsupported protocol"):
            self.shake("tls12.test", context)
        self.assertEqual(self.shake("tls12.test").version(), "TLSv1.2")
        with self.assertRaisesRegex(ssl.SSLError, "server"):
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_socket(self.connect(), server_side=True)

    def test_failures_are_those_of_openssl(self):
        with self.assertRaises(ssl.SSLCertVerificationError) as caught:
            self.shake("self-signed.test")
        error = caught.exception
        self.assertEqual((error.verify_code, error.reason), (18, "CERTIFICATE_VERIFY_FAILED"))
        self.assertIn("certificate verify failed: self-signed", str(error))
        self.assertIsInstance(error, ValueError)
        unchecked = ssl._create_unverified_context()
        self.assertEqual(self.shake("self-signed.test", unchecked).getpeercert(), {})
        with self.assertRaises(ssl.SSLError) as caught:
            self.shake("no-tls.test")
        self.assertEqual(caught.exception.reason, "TLSV1_ALERT_PROTOCOL_VERSION")
        with self.assertRaisesRegex(ssl.SSLError, "wrong version number"):
            self.shake("a.test", port=80)
        with self.assertRaisesRegex(TimeoutError, "timed out"):
            self.shake("slow-handshake.test")


class Connections(Networked):
    def test_a_socket_is_wrapped(self):
        context = ssl.create_default_context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        raw = self.connect(port=443)
        with context.wrap_socket(raw, server_hostname="a.test") as link:
            self.assertEqual(raw.fileno(), -1)
            self.assertEqual(link.version(), "TLSv1.3")
            self.assertEqual(link.selected_alpn_protocol(), "http/1.1")
            self.assertEqual(link.getpeercert()["subjectAltName"], (("DNS", "a.test"),))
            self.assertEqual(link.getpeercert(True), b"certificate of a.test")
            self.assertEqual(link.cipher()[2], 256)
            self.assertEqual((link.pending(), link.compression()), (0, None))
            link.sendall(ask("/bytes/5", "Connection: close"))
            self.assertTrue(link.makefile("rb").read().endswith(bytes(range(5))))
        with self.assertRaises(ValueError):
            context.wrap_socket(self.connect(port=443))

    def test_a_handshake_can_be_put_off(self):
        context = ssl.create_default_context()
        raw = self.connect(port=443)
        link = context.wrap_socket(raw, server_hostname="a.test", do_handshake_on_connect=False)
        self.addCleanup(link.close)
        self.assertIsNone(link.version())
        link.setblocking(False)
        link.do_handshake()
        self.assertEqual(link.version(), "TLSv1.3")
        with self.assertRaises(ssl.SSLWantReadError):
            link.recv(10)

    def test_objects_work_over_memory(self):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context()
        link = context.wrap_bio(incoming, outgoing, server_hostname="a.test")
        with self.assertRaises(ssl.SSLWantReadError):
            link.do_handshake()
        carrier = self.connect(port=443)
        carrier.sendall(outgoing.read())
        hello = carrier.recv(10_000)
        incoming.write(hello[:7])  # half of the length and a little of the text
        with self.assertRaises(ssl.SSLWantReadError):
            link.do_handshake()
        incoming.write(hello[7:])
        link.do_handshake()
        link.write(ask("/bytes/5"))
        with self.assertRaises(ssl.SSLWantReadError):
            link.read(10)
        carrier.sendall(outgoing.read())
        incoming.write(carrier.recv(10_000))
        self.assertEqual(link.read(8), b"HTTP/1.1")
        self.assertTrue(link.read(1000).endswith(bytes(range(5))))
        incoming.write_eof()
        self.assertTrue(incoming.eof)
        self.assertEqual(link.read(10), b"")
        with self.assertRaises(ssl.SSLError):
            incoming.write(b"x")

    def test_a_hostile_length_is_refused(self):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        link = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="a.test")
        incoming.write(b"\x16\xff\xff\xff\xff")
        with self.assertRaisesRegex(ssl.SSLError, "bad length"):
            link.do_handshake()

    def test_socket_is_still_a_socket(self):
        self.assertTrue(issubclass(ssl.SSLSocket, socket.socket))
        own = {name for name in vars(socket.socket.__mro__[1]) if not name.startswith("__")}
        kept = {"context", "session", "_context", "_connected", "_sslobj", "_session", "_closed"}
        self.assertEqual(own & kept, set())


