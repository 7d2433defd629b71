"""Requests: `http.client`, `urllib.request`, asyncio and `runtime.http`, unchanged on top."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import socket
import ssl
import time
import urllib.error
import urllib.request

from runtime import http as simple
from tests.test_sockets import Networked, ask

HTTP, HTTPS = "http://a.test", "https://a.test"


class Clients(Networked):
    def test_a_connection_is_kept(self):
        link = http.client.HTTPSConnection("a.test")
        self.addCleanup(link.close)
        numbers = []
        for _ in range(3):
            link.request("GET", "/echo")
            numbers.append(json.load(link.getresponse())["nth"])
        self.assertEqual(numbers, [1, 2, 3])
        self.assertEqual(len(self.gateway.started), 1)

    def test_answers_of_every_form(self):
        link = http.client.HTTPConnection("a.test")
        self.addCleanup(link.close)
        link.request("HEAD", "/bytes/500")
        response = link.getresponse()
        self.assertEqual((response.getheader("content-length"), response.read()), ("500", b""))
        link.request("GET", "/chunks/3")
        self.assertEqual(link.getresponse().read(), b"line 0\nline 1\nline 2\n")
        link.request("GET", "/until-end")
        self.assertEqual(link.getresponse().read(), b"until the end")
        link.close()
        link.request("GET", "/bytes/3000000")
        self.assertEqual(len(link.getresponse().read()), 3_000_000)

    def test_bodies_of_every_form(self):
        link = http.client.HTTPConnection("a.test")
        self.addCleanup(link.close)
        link.request("POST", "/echo", iter([b"one ", b"two"]), encode_chunked=True,
                     headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        self.assertEqual(json.load(link.getresponse())["body"], "one two")
        body = io.BytesIO(b"z" * 1_000_000)
        link.request("PUT", "/echo", body, {"Content-Length": "1000000"})
        self.assertEqual(json.load(link.getresponse())["length"], 1_000_000)

    def test_each_failure_is_its_own_exception(self):
        for path, kind in [
            ("/nothing", http.client.RemoteDisconnected),
            ("/reset", ConnectionResetError),
            ("/garbage", http.client.BadStatusLine),
        ]:
            link = http.client.HTTPConnection("a.test")
            self.addCleanup(link.close)
            link.request("GET", path)
            with self.subTest(path), self.assertRaises(kind):
                link.getresponse()
        link = http.client.HTTPConnection("a.test")
        self.addCleanup(link.close)
        link.request("GET", "/truncated")
        with self.assertRaises(http.client.IncompleteRead):
            link.getresponse().read()

    def test_requests_can_be_sent_ahead(self):
        link = self.connect()
        link.sendall(b"".join(ask(f"/bytes/{n}") for n in range(4)))
        link.sendall(ask("/nothing"))
        self.assertEqual(link.makefile("rb").read().count(b"HTTP/1.1 200"), 4)

    def test_a_body_can_wait_for_its_leave(self):
        link = self.connect()
        link.sendall(b"POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        self.assertEqual(link.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
        link.sendall(b"hi")
        self.assertIn(b'"body": "hi"', link.recv(10_000))


class Urllib(Networked):
    def open(self, *args, **named):
        opened = urllib.request.urlopen(*args, **named)
        self.addCleanup(opened.close)
        return opened

    def test_get_and_post(self):
        answer = json.load(self.open(HTTPS + "/echo?a=1&b=%20x"))
        self.assertEqual(answer["args"], {"a": "1", "b": " x"})
        self.assertEqual(answer["tls"]["server_hostname"], "a.test")
        request = urllib.request.Request(HTTP + "/echo", b"k=v", {"X-Mine": "yes"})
        answer = json.load(self.open(request))
        self.assertEqual((answer["body"], answer["headers"]["x-mine"]), ("k=v", "yes"))

    def test_redirects_and_errors_of_http(self):
        self.assertEqual(self.open(HTTP + "/redirect/302?to=/text").url, HTTP + "/text")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.open(HTTP + "/status/404")
        self.assertEqual((caught.exception.code, caught.exception.read()), (404, b"status 404"))
        caught.exception.close()

    def test_each_failure_is_the_reason_of_a_url_error(self):
        for url, kind, named in [
            ("http://nowhere.test/", socket.gaierror, {}),
            ("http://refused.test/", ConnectionRefusedError, {}),
            ("http://forbidden.test/", PermissionError, {}),
            ("https://expired.test/", ssl.SSLCertVerificationError, {}),
            ("http://blackhole.test/", TimeoutError, {"timeout": 0.05}),
        ]:
            with self.subTest(url), self.assertRaises(urllib.error.URLError) as caught:
                self.open(url, **named)
            self.assertIsInstance(caught.exception.reason, kind)
        with self.assertRaises(TimeoutError):
            self.open(HTTP + "/hang", timeout=0.05)


class Asyncio(Networked):
    def run_async(self, main):
        return asyncio.run(asyncio.wait_for(main, 20))

    def test_ten_requests_take_as_long_as_the_slowest(self):
        async def fetch(secure, seconds):
            context = ssl.create_default_context() if secure else None
            port = 443 if secure else 80
            reader, writer = await asyncio.open_connection("a.test", port, ssl=context)
            writer.write(ask(f"/delay/{seconds}", "Connection: close"))
            data = await reader.read()
            writer.close()
            await writer.wait_closed()
            return data

        async def main(secure):
            return await asyncio.gather(*(fetch(secure, 0.1 + n / 100) for n in range(10)))

        for secure in (False, True):
            with self.subTest(secure=secure), self.took(0.18, 0.5):
                answers = self.run_async(main(secure))
            self.assertTrue(all(answer.endswith(b"late") for answer in answers))

    def test_much_is_read_and_written(self):
        async def main():
            reader, writer = await asyncio.open_connection("slow-reader.test", 80)
            writer.write(b"POST /echo HTTP/1.1\r\nConnection: close\r\nContent-Length: 900000\r\n\r\n")
            writer.write(b"x" * 900_000)
            await writer.drain()
            data = await reader.read()
            writer.close()
            return data

        self.assertIn(b'"length": 900000', self.run_async(main()))

    def test_sockets_can_be_used_by_hand(self):
        async def main():
            loop = asyncio.get_running_loop()
            self.assertEqual((await loop.getaddrinfo("a.test", 80))[0][4][1], 80)
            self.assertEqual((await loop.getnameinfo(("198.18.0.1", 80)))[0], "a.test")
            link = socket.socket()
            link.setblocking(False)
            await loop.sock_connect(link, ("slow-connect.test", 80))
            await loop.sock_sendall(link, ask("/delay/0.02"))
            data = await loop.sock_recv(link, 8)
            link.close()
            return data

        self.assertEqual(self.run_async(main()), b"HTTP/1.1")

    def test_failures(self):
        async def main():
            for name, kind in [
                ("refused.test", ConnectionRefusedError),
                ("nowhere.test", socket.gaierror),
                ("forbidden.test", PermissionError),
            ]:
                with self.assertRaises(kind):
                    await asyncio.open_connection(name, 80)
            with self.took(0.04, 0.2), self.assertRaises(TimeoutError):
                await asyncio.wait_for(asyncio.open_connection("blackhole.test", 80), 0.05)
            context = ssl.create_default_context()
            with self.assertRaises(ssl.SSLCertVerificationError):
                await asyncio.open_connection("expired.test", 443, ssl=context)

        self.run_async(main())

    def test_timers_run_while_bytes_are_waited_for(self):
        async def main():
            ticks = []

            async def tick():
                while True:
                    await asyncio.sleep(0.02)
                    ticks.append(1)

            ticking = asyncio.create_task(tick())
            reader, writer = await asyncio.open_connection("a.test", 80)
            writer.write(ask("/delay/0.2"))
            await reader.read(10)
            ticking.cancel()
            writer.close()
            return len(ticks)

        self.assertIn(self.run_async(main()), range(5, 12))

    def test_waiting_for_ever_is_still_told(self):
        async def main():
            reader, writer = await asyncio.open_connection("a.test", 80)
            writer.close()
            await writer.wait_closed()
            await asyncio.Event().wait()

        with self.assertRaisesRegex(RuntimeError, "waits for ever"):
            asyncio.run(main())

    def test_servers_are_refused(self):
        async def main():
            for start in (asyncio.start_server(print, "127.0.0.1", 0),):
                with self.assertRaisesRegex(OSError, "network"):
                    await start
            loop = asyncio.get_running_loop()
            with self.assertRaisesRegex(OSError, "network"):
                await loop.create_datagram_endpoint(asyncio.DatagramProtocol, ("127.0.0.1", 0))

        self.run_async(main())


class Runtime(Networked):
    def test_requests_without_a_library(self):
        answer = simple.get(HTTPS + "/echo?a=1", params={"b": [2, 3], "c": "é"}, headers={"X-A": "b"})
        value = answer.json()
        self.assertEqual((answer.status, answer.ok, answer.kind), (200, True, "application/json"))
        self.assertEqual(value["args"], {"a": "1", "b": "3", "c": "é"})
        self.assertEqual(value["headers"]["x-a"], "b")
        self.assertEqual(simple.get(HTTP + "/text").text, "Grüße")
        for options, body, kind in [
            ({"json": {"x": (1,)}}, '{"x":[1]}', "application/json"),
            ({"form": {"k": "v w"}}, "k=v+w", "application/x-www-form-urlencoded"),
            ({"data": "text"}, "text", "text/plain; charset=utf-8"),
            ({"data": b"\xff"}, "\xff", None),
        ]:
            value = simple.post(HTTP + "/echo", **options).json()
            self.assertEqual((value["body"], value["headers"].get("content-type")), (body, kind))
        value = simple.post(HTTP + "/echo", headers={"content-type": "x/y"}, data=b"").json()
        self.assertEqual(value["headers"]["content-type"], "x/y")
        value = simple.get(HTTP + "/echo", auth=("u", "p")).json()
        self.assertEqual(value["headers"]["authorization"], "Basic dTpw")
        self.assertEqual(self.gateway.connections, {}, "every connection is closed")

    def test_a_status_is_no_exception_unless_wanted(self):
        answer = simple.get(HTTP + "/status/404")
        self.assertFalse(answer.ok)
        with self.assertRaisesRegex(simple.HttpError, "404 Status for http://a.test/status/404"):
            answer.raise_for_status()
        simple.get(HTTP + "/text").raise_for_status()

    def test_contents_are_unpacked(self):
        for coding in ("gzip", "two-parts", "deflate", "raw"):
            with self.subTest(coding):
                self.assertEqual(simple.get(f"{HTTP}/packed/{coding}").content, b"packed " * 30_000)
        for coding in ("torn", "damaged"):
            with self.subTest(coding), self.assertRaisesRegex(OSError, "gzip content"):
                simple.get(f"{HTTP}/packed/{coding}")

    def test_blobs_are_streamed_both_ways(self):
        answer = simple.get(HTTP + "/bytes/300000", to_blob=True)
        self.assertEqual(answer.content, b"")
        kind, content = self.written[answer.blob_id]
        self.assertEqual((kind, len(content)), ("application/octet-stream", 300_000))
        value = simple.request("PUT", HTTPS + "/echo", from_blob=answer.blob_id).json()
        self.assertEqual(value["length"], 300_000)
        answer = simple.get(HTTP + "/text", to_blob=True)
        self.assertEqual(self.written[answer.blob_id][0], "text/plain")

    def test_redirects_are_followed_and_carry_no_password_elsewhere(self):
        def asked(code, method="POST", to="/echo", **options):
            url = f"{HTTP}/redirect/{code}?to={to}"
            return simple.request(method, url, data=b"x", auth=("u", "p"), **options)

        for code, method, body in [
            (301, "GET", ""), (302, "GET", ""), (303, "GET", ""), (307, "POST", "x"), (308, "POST", "x"),
        ]:  # fmt: skip
            value = asked(code).json()
            self.assertEqual((value["method"], value["body"]), (method, body))
            self.assertIn("authorization", value["headers"])
        value = asked(307, to="http://b.test/echo").json()
        self.assertNotIn("authorization", value["headers"])
        self.assertEqual(asked(302, redirects=0).status, 302)
        with self.assertRaisesRegex(simple.PolicyDenied, "forbidden.test"):
            asked(302, to="http://forbidden.test/")
        endless = "/redirect/302?to=/redirect/302%3Fto%3D/redirect/302%253Fto%253D/text"
        with self.assertRaisesRegex(OSError, "more than 1 redirects"):
            simple.get(HTTP + endless, redirects=1)

    def test_failures(self):
        for url, kind in [
            ("https://forbidden.test/", simple.PolicyDenied),
            ("https://expired.test/", ssl.SSLCertVerificationError),
            ("https://refused.test/", ConnectionRefusedError),
            ("ftp://a.test/", ValueError),
            ("a.test", ValueError),
            ("https://u:p@a.test/", ValueError),
        ]:
            with self.subTest(url), self.assertRaises(kind):
                simple.get(url)
        for path, kind in [
            ("/nothing", ConnectionResetError),
            ("/reset", ConnectionResetError),
            ("/garbage", OSError),
            ("/truncated", ConnectionResetError),
            ("/truncated/chunks", ConnectionResetError),
        ]:
            with self.subTest(path), self.assertRaises(kind):
                simple.get(HTTP + path)
        for data in (5, {"field": "value"}, ["line"]):
            with self.subTest(data), self.assertRaisesRegex(TypeError, "`form` sends fields"):
                simple.post(HTTP + "/echo", data=data)
        with self.assertRaises(ValueError):
            simple.get("http://a b.test/")
        start = time.monotonic()
        with self.assertRaises(TimeoutError):
            simple.get(HTTP + "/hang", timeout=0.05)
        self.assertLess(time.monotonic() - start, 2)
        with self.assertRaises(ValueError):
            simple.post(HTTP + "/echo", json=1, data=b"x")
        with self.assertRaises(ValueError):
            simple.get(HTTP + "/echo", headers={"Host": "b.test"})
        self.assertEqual(self.gateway.connections, {})
