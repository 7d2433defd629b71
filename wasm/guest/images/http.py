"""Requests over HTTP: ssl, http.client and urllib.request, with what libraries import on top."""

import asyncio.sslproto
import binascii
import codecs
import contextvars
import email.message
import email.parser
import email.utils
import http.client
import http.cookiejar
import http.cookies
import importlib.metadata
import io
import ipaddress
import mimetypes
import netrc
import queue
import select
import selectors
import socket
import ssl
import stat
import urllib.error
import urllib.request
import zlib

import _wardian.tls
from runtime import http as simple_http


class Exchange:
    """A connection that has one answer ready."""

    def __init__(self, answer):
        self.answer = answer

    def makefile(self, mode):
        return io.BytesIO(self.answer)


def use_http():
    """Reads two answers and writes a request."""
    for answer in (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
        b"Set-Cookie: a=b; Path=/\r\nContent-Length: 7\r\n\r\n[1, 2]\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ):
        response = http.client.HTTPResponse(Exchange(answer), method="GET")
        response.begin()
        response.headers.get_content_charset()
        response.read()
    request = urllib.request.Request("https://example.com/a?b=c", b"k=v", {"X-A": "b"})
    request.get_full_url(), request.header_items()
    urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    with urllib.request.urlopen("data:text/plain,x") as opened:
        opened.read()
    simple_http.Response(200, "OK", "https://example.com/", response.headers).text


def use_tls():
    """Shakes hands with itself."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    link = context.wrap_bio(incoming, outgoing, server_hostname="example.com")
    try:
        link.do_handshake()
    except ssl.SSLWantReadError:
        incoming.write(_wardian.tls.frame({"alpn": "http/1.1", "version": "TLSv1.3"}))
    link.do_handshake()
    link.write(b"x")
    outgoing.read()


use_http()
use_tls()
