"""Connections: `socket`, `select` and `selectors` on top of requests to the gateway."""

from __future__ import annotations

import contextlib
import errno
import gc
import ipaddress
import select
import selectors
import socket
import time

from _wardian import clock, network, sockets
from tests.gateway import Gateway
from tests.support import Sandbox


class Networked(Sandbox):
    """A test case whose run has a network."""

    def setUp(self) -> None:
        super().setUp()
        self.gateway = Gateway()
        self.addCleanup(sockets.forget)

    def answer_network(self, request: bytes) -> bytes:
        return self.gateway.answer(request)

    @contextlib.contextmanager
    def took(self, least: float, most: float):
        start = time.monotonic()
        yield
        self.assertTrue(least <= time.monotonic() - start <= most + 1, time.monotonic() - start)

    def connect(self, name="a.test", port=80, **options) -> socket.socket:
        link = socket.create_connection((name, port), **options)
        self.addCleanup(link.close)
        return link


def ask(path: str, *fields: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "Host: a.test", *fields, "", "")).encode()


class Names(Networked):
    def test_each_name_has_an_address_of_its_own(self):
        first, again, other = map(socket.gethostbyname, ("a.test", "A.test.", "b.test"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual((first, other), ("198.18.0.1", "198.18.0.2"))
        self.assertTrue(ipaddress.ip_address(first).is_private)
        self.assertEqual(self.gateway.calls["resolve"], 2, "what is known is not asked again")
        self.assertEqual(socket.gethostbyaddr(first)[0], "a.test")
        self.assertEqual(socket.getfqdn("a.test"), "a.test")
        self.assertEqual(socket.getnameinfo((first, 443), 0), ("a.test", "https"))
        found = socket.getaddrinfo("a.test", "https", type=socket.SOCK_STREAM)
        self.assertEqual([entry[4] for entry in found], [(first, 443)])

    def test_the_name_is_what_the_gateway_connects_to(self):
        address = socket.gethostbyname("a.test")
        for host in ("a.test", address, "A.TEST.", b"a.test"):
            with socket.socket() as link:
                link.connect((host, 8080))
                self.assertEqual(link.getpeername(), (host, 8080))
        self.assertEqual(self.gateway.started, [("a.test", 8080)] * 4)

    def test_names_beyond_ascii_are_encoded(self):
        self.connect("bücher.test")
        self.assertEqual(self.gateway.started, [("xn--bcher-kva.test", 80)])

    def test_what_is_unknown_is_a_gaierror(self):
        for name, number in [
            ("nowhere.test", socket.EAI_NONAME),
            ("unsure.test", socket.EAI_AGAIN),
            ("a" * 300 + ".test", socket.EAI_NONAME),
        ]:
            for call in (socket.gethostbyname, lambda name: socket.socket().connect((name, 80))):
                with self.subTest(name), self.assertRaises(socket.gaierror) as caught:
                    call(name)
                self.assertEqual(caught.exception.errno, number)
        with self.assertRaises(socket.gaierror):
            socket.getaddrinfo("a.test", 80, socket.AF_INET6)
        with self.assertRaises(socket.gaierror):
            socket.getaddrinfo("a.test", 80, flags=socket.AI_NUMERICHOST)

    def test_a_forbidden_name_is_refused_when_it_is_connected_to(self):
        with self.assertRaises(PermissionError) as caught:
            self.connect("forbidden.test")
        self.assertIn('network = ["https://forbidden.test"]', str(caught.exception))

    def test_addresses_as_numbers_are_the_gateway_s_to_judge(self):
        for address in ("169.254.169.254", "10.0.0.1", "::1", "127.0.0.1"):
            with self.subTest(address), self.assertRaises(PermissionError):
                self.connect(address)
        self.assertEqual({name for name, _ in self.gateway.started},
                         {"169.254.169.254", "10.0.0.1", "::1", "127.0.0.1"})  # fmt: skip

    def test_localhost_is_a_name_if_the_run_may_reach_it(self):
        self.assertEqual(socket.gethostbyname("localhost"), "127.0.0.1")
        self.gateway.resolve = lambda payload: b""
        self.assertEqual(socket.gethostbyname("localhost"), "198.18.0.1")
        with self.assertRaises(PermissionError):
            self.connect("localhost")
        self.assertEqual(self.gateway.started, [("localhost", 80)])

    def test_addresses_of_both_families_are_packed(self):
        for family, text in [(socket.AF_INET, "1.2.3.4"), (socket.AF_INET6, "2001:db8::1")]:
            self.assertEqual(socket.inet_ntop(family, socket.inet_pton(family, text)), text)
        for text in ("1.2.3", "::1", ""):
            with self.assertRaises(OSError):
                socket.inet_pton(socket.AF_INET, text)
        with self.assertRaises(ValueError):
            socket.inet_ntop(socket.AF_INET, b"123")


class Sockets(Networked):
    def test_a_connection_is_a_file_both_ways(self):
        with self.connect(timeout=2) as link:
            self.assertGreaterEqual(link.fileno(), sockets.FIRST_DESCRIPTOR)
            self.assertEqual(link.gettimeout(), 2)
            self.assertIn("raddr=('198.18.0.1', 80)", repr(link))
            link.sendall(ask("/bytes/300", "Connection: close"))
            with link.makefile("rb") as file:
                self.assertEqual(file.readline(), b"HTTP/1.1 200 Status\r\n")
                self.assertTrue(file.read().endswith(bytes(range(44))))
        self.assertEqual(link.fileno(), -1)
        with self.assertRaises(OSError) as caught:
            link.send(b"x")
        self.assertEqual(caught.exception.errno, errno.EBADF)

    def test_timeouts_end_a_wait(self):
        link = self.connect(timeout=0.05)
        link.sendall(ask("/hang"))
        with self.took(0.04, 0.2), self.assertRaisesRegex(TimeoutError, "^timed out$"):
            link.recv(10)
        link.setblocking(False)
        with self.assertRaises(BlockingIOError):
            link.recv(10)
        with self.took(0.04, 0.2), self.assertRaises(TimeoutError):
            self.connect("blackhole.test", timeout=0.05)
        for seconds, kind in [(-1, ValueError), (float("nan"), ValueError), (1e10, OverflowError)]:
            with self.assertRaises(kind):
                link.settimeout(seconds)

    def test_a_wait_is_no_processor_time(self):
        self.connect("slow-connect.test")
        before = clock._slept
        link = self.connect()
        link.sendall(ask("/delay/0.05"))
        link.recv(10)
        self.assertGreater(clock._slept - before, 0.03)

    def test_a_refused_connection_is_known_at_once(self):
        with self.assertRaises(ConnectionRefusedError):
            self.connect("refused.test")
        link = socket.socket()
        self.assertEqual(link.connect_ex(("refused.test", 80)), errno.ECONNREFUSED)
        self.assertEqual(link.connect_ex(("a.test", 80)), 0, "it could connect elsewhere")
        self.assertEqual(link.connect_ex(("a.test", 80)), errno.EISCONN)
        link.close()
        self.assertEqual(self.gateway.connections, {})
        with self.assertRaises(OverflowError):
            socket.socket().connect(("a.test", 65536))
        with self.assertRaises(TypeError):
            socket.socket().connect("a.test")

    def test_connecting_can_go_on_in_the_background(self):
        link = socket.socket()
        link.setblocking(False)
        self.assertEqual(link.connect_ex(("slow-connect.test", 80)), errno.EINPROGRESS)
        self.assertEqual(link.connect_ex(("slow-connect.test", 80)), errno.EALREADY)
        self.assertEqual(link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
        with self.took(0.05, 0.3), selectors.DefaultSelector() as selector:
            selector.register(link, selectors.EVENT_WRITE, "x")
            self.assertEqual(selector.select(0), [])
            self.assertEqual([key.data for key, _ in selector.select(1)], ["x"])
        self.assertEqual(link.connect_ex(("slow-connect.test", 80)), errno.EISCONN)
        link.close()
        failed = socket.socket()
        failed.setblocking(False)
        failed.connect_ex(("refused.test", 80))
        error = failed.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self.assertEqual(error, errno.ECONNREFUSED)
        failed.close()

    def test_bytes_can_be_peeked_at_and_read_in_place(self):
        link = self.connect()
        copy = link.dup()
        link.close()
        copy.sendall(ask("/bytes/256"))
        self.assertEqual(copy.recv(4, socket.MSG_PEEK), b"HTTP")
        self.assertEqual(copy.recv(4), b"HTTP")
        buffer = bytearray(10)
        self.assertEqual(copy.recv_into(memoryview(buffer)[2:], 3), 3)
        self.assertEqual(buffer, b"\0\0/1.\0\0\0\0\0")
        self.assertEqual(copy.recv(0), b"")
        for wrong in (lambda: copy.recv(-1), lambda: copy.recv_into(buffer, 11)):
            with self.assertRaises(ValueError):
                wrong()
        with self.assertRaises(BlockingIOError):
            while copy.recv(1000, getattr(socket, "MSG_DONTWAIT", 0x40)):
                pass
        copy.shutdown(socket.SHUT_RDWR)
        self.assertEqual(copy.recv(1), b"")
        with self.assertRaises(BrokenPipeError):
            copy.send(b"x")
        again = socket.socket(fileno=copy.detach())
        self.assertEqual(again.getpeername()[1], 80)
        again.close()
        self.assertEqual(self.gateway.connections, {})

    def test_all_of_the_bytes_can_be_waited_for(self):
        link = self.connect()
        link.sendall(ask("/until-end"))
        data = link.recv(1000, socket.MSG_WAITALL)
        self.assertTrue(data.endswith(b"until the end"), data)

    def test_much_is_written_in_pieces(self):
        link = self.connect("slow-reader.test")
        body = b"x" * 700_000
        link.sendall(f"POST /echo HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        link.setblocking(False)
        self.assertLess(link.send(body) if select.select([], [link], [], 1)[1] else 0, len(body))
        link.settimeout(0.001)
        with self.assertRaises(TimeoutError):
            link.sendall(body)

    def test_connections_that_nobody_closes_end_with_their_socket(self):
        link = socket.create_connection(("a.test", 80))
        self.assertEqual(len(self.gateway.connections), 1)
        del link
        gc.collect()
        self.assertEqual(self.gateway.connections, {})
        self.assertEqual(sockets.streams, {})

    def test_there_are_no_servers_and_no_datagrams(self):
        for attempt in (
            lambda: socket.create_server(("", 80)),
            lambda: socket.socket().bind(("127.0.0.1", 0)),
            lambda: socket.socket().listen(),
            lambda: socket.socket(type=socket.SOCK_DGRAM).connect(("a.test", 53)),
            lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("a.test", 53)),
        ):
            with self.assertRaisesRegex(OSError, "network"):
                attempt()
        for family, kind in ((77, -1), (socket.AF_INET, socket.SOCK_RAW), (socket.AF_INET, 9)):
            with self.assertRaises(OSError):
                socket.socket(family, kind)
        with self.assertRaises(OSError):
            socket.socket(fileno=5)

    def test_every_option_is_taken(self):
        link = self.connect()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        kind = link.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
        self.assertEqual(kind, socket.SOCK_STREAM)
        self.assertEqual(link.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4), bytes(4))
        self.assertEqual(link.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\2\0\0\0")
        self.assertEqual(link.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)[4], 2)


class Readiness(Networked):
    def test_connections_and_files_are_watched_together(self):
        link = self.connect()
        with open("x", "w+b") as file, open("/dev/null", "wb") as sink:
            self.assertEqual(select.select([link], [link, file], [], 0), ([], [link, file], []))
            link.sendall(ask("/delay/0.05"))
            with self.took(0.03, 0.3):
                self.assertEqual(select.select([link], [], [], 5)[0], [link])
            poll = select.poll()
            poll.register(link, select.POLLIN)
            poll.register(sink, select.POLLOUT)
            self.assertEqual(dict(poll.poll(0)), {
                link.fileno(): select.POLLIN, sink.fileno(): select.POLLOUT})  # fmt: skip
            poll.modify(link, select.POLLOUT)
            self.assertEqual(dict(poll.poll())[link.fileno()], select.POLLOUT)
            poll.unregister(link)
            with self.assertRaises(KeyError):
                poll.unregister(link)
            with self.assertRaises(FileNotFoundError):
                poll.modify(link, 0)

    def test_bytes_that_were_read_ahead_make_a_connection_readable(self):
        link = self.connect()
        link.sendall(ask("/bytes/5"))
        link.recv(1)
        self.gateway.calls.clear()
        self.assertEqual(select.select([link], [], [], None)[0], [link])
        self.assertEqual(self.gateway.calls["poll"], 0)
        poll = select.poll()
        poll.register(link)
        self.assertEqual(poll.poll(), [(link.fileno(), select.POLLIN | select.POLLOUT)])

    def test_one_request_asks_for_all_connections(self):
        links = [self.connect() for _ in range(5)]
        for number, link in enumerate(links):
            link.sendall(ask("/delay/0.05" if number == 4 else "/delay/30"))
        self.gateway.calls.clear()
        self.assertEqual(select.select(links, [], [])[0], [links[4]])
        self.assertEqual(self.gateway.calls["poll"], 1)

    def test_a_closed_or_unconnected_one_is_told(self):
        link, unconnected = self.connect(), socket.socket()
        number = link.fileno()
        link.close()
        poll = select.poll()
        poll.register(number, select.POLLIN)
        self.assertEqual(poll.poll(0), [(number, select.POLLNVAL)])
        poll = select.poll()
        poll.register(unconnected, select.POLLIN | select.POLLOUT)
        self.assertEqual(poll.poll(0)[0][1], select.POLLOUT | select.POLLHUP)
        with self.assertRaises(OSError):
            select.select([number], [], [], 0)
        with self.assertRaises(ValueError):
            poll.register(-1)

    def test_waiting_for_nothing_is_told_at_once(self):
        with self.assertRaisesRegex(RuntimeError, "waits for ever"):
            select.poll().poll()
        with self.took(0.04, 0.2):
            self.assertEqual(select.poll().poll(50), [])


class Pairs(Networked):
    def pair(self, *kind) -> tuple[socket.socket, socket.socket]:
        one, two = socket.socketpair(*kind)
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        return one, two

    def test_bytes_go_both_ways_and_end(self):
        one, two = self.pair()
        self.assertEqual((one.family, one.type), (socket.AF_UNIX, socket.SOCK_STREAM))
        self.assertEqual((one.getsockname(), one.getpeername()), ("", ""))
        one.sendall(b"hello ")
        one.send(b"world")
        self.assertEqual(two.recv(3, socket.MSG_PEEK), b"hel")
        self.assertEqual(two.recv(3), b"hel")
        self.assertEqual(two.recv(100), b"lo world")
        two.sendall(b"back")
        two.shutdown(socket.SHUT_WR)
        self.assertEqual([one.recv(10), one.recv(10)], [b"back", b""])
        with self.assertRaises(BrokenPipeError):
            two.send(b"x")
        one.sendall(b"still")
        self.assertEqual(two.recv(10), b"still")
        one.close()
        self.assertEqual(two.recv(10), b"")

    def test_files_and_duplicates_are_the_same_end(self):
        one, two = self.pair()
        with one.makefile("w") as writer, two.makefile("r") as reader:
            writer.write("a line\nanother\n")
            writer.flush()
            self.assertEqual([reader.readline(), reader.readline()], ["a line\n", "another\n"])
        again = one.dup()
        one.close()
        again.sendall(b"x")
        self.assertEqual(two.recv(9), b"x")
        again.close()
        self.assertEqual(two.recv(9), b"")
        with self.assertRaises(BrokenPipeError):
            two.send(b"x")

    def test_what_never_waits_says_so(self):
        one, two = self.pair()
        two.setblocking(False)
        with self.assertRaises(BlockingIOError):
            two.recv(1)
        one.setblocking(False)
        sent = 0
        with self.assertRaises(BlockingIOError):
            while True:
                sent += one.send(bytes(50_000))
        self.assertGreater(sent, 100_000)
        received = 0
        with self.assertRaises(BlockingIOError):
            while data := two.recv(70_001):
                received += len(data)
        self.assertEqual(received, sent)
        two.settimeout(0.05)
        with self.took(0.05, 1), self.assertRaises(TimeoutError):
            two.recv(1)

    def test_unread_bytes_reset_the_connection(self):
        one, two = self.pair()
        one.sendall(b"lost")
        two.sendall(b"read")
        two.close()
        self.assertEqual(one.recv(9), b"read")
        with self.assertRaises(ConnectionResetError):
            one.recv(9)
        self.assertEqual(one.recv(9), b"")

    def test_messages_stay_apart(self):
        one, two = self.pair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for message in (b"first", b"", b"third"):
            one.send(message)
        self.assertEqual([two.recv(3), two.recv(9), two.recv(9)], [b"fir", b"", b"third"])

    def test_both_kinds_of_waiting_see_them(self):
        one, two = self.pair()
        self.assertEqual(select.select([one], [one], [], 0), ([], [one], []))
        two.sendall(b"x")
        self.assertEqual(select.select([one], [], [], 5), ([one], [], []))
        with selectors.DefaultSelector() as watch:
            watch.register(one, selectors.EVENT_READ, "data")
            self.assertEqual([key.data for key, _ in watch.select()], ["data"])
            one.recv(1)
            self.assertEqual(watch.select(0), [])
            with self.took(0.05, 1):
                self.assertEqual(watch.select(0.05), [])
            two.close()
            self.assertEqual([key.data for key, _ in watch.select()], ["data"])

    def test_threads_and_loops_talk_over_them(self):
        value = self.returns(
            "import asyncio, socket, threading\n"
            "def answer(end):\n"
            "    end.sendall(end.recv(100).upper())\n"
            "    end.close()\n"
            "async def over_loop():\n"
            "    one, two = socket.socketpair()\n"
            "    reader, writer = await asyncio.open_connection(sock=one)\n"
            "    _, peer = await asyncio.open_connection(sock=two)\n"
            "    peer.write(b'a line\\n'); peer.close()\n"
            "    return [(await reader.readline()).decode(), (await reader.read()).decode()]\n"
            "def main():\n"
            "    one, two = socket.socketpair()\n"
            "    one.sendall(b'question')\n"
            "    threading.Thread(target=answer, args=(two,)).start()\n"
            "    return one.recv(100).decode(), asyncio.run(over_loop())\n"
        )
        self.assertEqual(value, ["QUESTION", ["a line\n", ""]])

    def test_waiting_for_nobody_and_other_families_are_told(self):
        report = self.fails("import socket\na, b = socket.socketpair()\na.recv(1)")
        self.assertIn("waits for ever: it waits for bytes on a socket", report["message"])
        for family, number in ((socket.AF_INET, errno.EOPNOTSUPP), (99, errno.EAFNOSUPPORT)):
            with self.assertRaises(OSError) as refused:
                socket.socketpair(family)
            self.assertEqual(refused.exception.errno, number)


class WithoutNetwork(Sandbox):
    def test_a_socket_works_as_natively_until_it_would_reach_somebody(self):
        source = (
            "import errno, selectors, socket, socketserver, http.server\n"
            "def ends(call):\n"
            "    try:\n        return call()\n"
            "    except OSError as error:\n"
            "        return f'{type(error).__name__} {errno.errorcode.get(error.errno)}'\n"
            "def tcp(): return socket.socket()\n"
            "def udp(): return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "def unix(): return socket.socket(socket.AF_UNIX)\n"
            "with tcp() as s:\n"
            "    s.settimeout(2)\n"
            "    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
            "    quiet = [s.gettimeout(), s.fileno() > 2, s.getsockname(), s.type.name,\n"
            "             s.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)]\n"
            "    with selectors.DefaultSelector() as watched: watched.register(s, 3)\n"
            "[quiet, s.fileno(), [ends(call) for call in (\n"
            "    lambda: tcp().connect(('10.0.0.1', 80)), lambda: tcp().connect(('127.0.0.1', 80)),\n"
            "    lambda: tcp().connect_ex(('127.0.0.1', 80)), lambda: tcp().bind(('', 0)),\n"
            "    lambda: tcp().send(b'x'), lambda: tcp().sendall(b'x'), lambda: tcp().recv(1),\n"
            "    lambda: tcp().shutdown(2), lambda: tcp().getpeername(), lambda: tcp().accept(),\n"
            "    lambda: udp().connect(('8.8.8.8', 80)), lambda: udp().sendto(b'', ('8.8.8.8', 1)),\n"
            "    lambda: unix().connect('/run/no.sock'), lambda: unix().getsockname(),\n"
            "    lambda: unix().bind('x.sock'), lambda: socketserver.TCPServer(('', 0), None),\n"
            "    lambda: http.server.HTTPServer(('127.0.0.1', 0), None),\n"
            "    lambda: socket.create_server(('', 0)),\n"
            "    lambda: socket.create_connection(('a.test', 80)))]]"
        )
        quiet, closed, ends = self.returns(source)
        self.assertEqual(quiet, [2.0, True, ["0.0.0.0", 0], "SOCK_STREAM", 1])
        self.assertEqual(closed, -1)
        self.assertEqual(
            ends,
            [
                "OSError ENETUNREACH", "ConnectionRefusedError ECONNREFUSED", errno.ECONNREFUSED,
                "OSError EADDRNOTAVAIL", "BrokenPipeError EPIPE", "BrokenPipeError EPIPE",
                "OSError ENOTCONN", "OSError ENOTCONN", "OSError ENOTCONN", "OSError EINVAL",
                "OSError ENETUNREACH", "OSError ENETUNREACH", "FileNotFoundError ENOENT", "",
                "OSError EADDRNOTAVAIL", "OSError EADDRNOTAVAIL", "OSError EADDRNOTAVAIL",
                "OSError EADDRNOTAVAIL", "OSError ENETUNREACH",
            ],
        )  # fmt: skip

    def fails_with(self, source, skill=None):
        if skill is None:
            return self.fails(source)
        end, value = self.run_skill(self.mount_skill("acme.x", {"code/main.py": source}))
        self.assertEqual(end, "raised")
        return value

    def test_code_is_told_to_pass_the_data(self):
        for source, kind in [
            ("import socket\nsocket.create_connection(('example.com', 80))", "OSError"),
            ("import socket\nsocket.socket().connect(('10.0.0.1', 80))", "OSError"),
            ("import socket\nsocket.getaddrinfo('example.com', 80)", "gaierror"),
            ("import urllib.request as u\nu.urlopen('https://example.com')", "URLError"),
            ("import asyncio\nasyncio.run(asyncio.open_connection('x.org', 80))", "gaierror"),
            ("from runtime import http\nhttp.get('https://example.com')", "PolicyDenied"),
        ]:
            with self.subTest(source):
                report = self.fails(source)
                self.assertEqual(report["type"], kind)
                self.assertIn("there is no network in the sandbox", report["message"])
                self.assertIn("input_blobs", report["message"])

    def test_a_skill_is_told_the_line_of_its_manifest(self):
        source = (
            "import urllib.request\n"
            "def main(args):\n"
            "    urllib.request.urlopen('https://api.example.com/x')\n"
        )
        report = self.fails_with(source, skill=True)
        self.assertIn('network = ["https://api.example.com"]', report["message"])
        self.assertIn("`acme.x`", report["message"])

    def test_numbers_and_localhost_are_known(self):
        self.assertEqual(socket.gethostbyname("localhost"), "127.0.0.1")
        self.assertEqual(socket.getaddrinfo("10.0.0.1", 80)[0][4], ("10.0.0.1", 80))
        self.assertEqual(socket.gethostbyaddr("127.0.0.1")[0], "localhost")

    def test_the_host_can_be_out_of_reach_without_that_being_a_rule(self):
        self.answer_network = lambda request: b"\1" + errno.ENETUNREACH.to_bytes(2, "little") + b"x"
        with self.assertRaises(OSError) as caught:
            network.start("a.test", 80)
        self.assertFalse(network.has_no_network(caught.exception))
