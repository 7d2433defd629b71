import base64
import binascii
import hashlib
import hmac
import html
import quopri
import urllib.parse
import uuid
import zlib


def main(args):
    d = "pässword".encode()
    return {**{n: hashlib.new(n, d).hexdigest() for n in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s", "sha384")}, "shake": hashlib.shake_128(d).hexdigest(8), "hmac": hmac.new(b"k", d, "sha256").hexdigest(), "cmp": hmac.compare_digest("a", "a"),
            "b64": base64.b64encode(d).decode(), "url": base64.urlsafe_b64encode(bytes(range(250, 256))).decode(), "b32": base64.b32encode(d).decode(), "b85": base64.b85encode(d).decode(), "a85": base64.a85encode(d).decode(), "hex": binascii.hexlify(d, "-").decode(), "u5": str(uuid.uuid5(uuid.NAMESPACE_DNS, "x.org")), "u3": uuid.uuid3(uuid.NAMESPACE_URL, "x").hex,
            "q": urllib.parse.quote("a b/ü?&"), "qs": urllib.parse.urlencode({"a": [1, 2], "b": "é"}, doseq=True), "pq": urllib.parse.parse_qs("a=1&a=2&b="), "us": list(urllib.parse.urlsplit("https://u:p@h.org:8080/p;x?q#f")), "join": urllib.parse.urljoin("http://a/b/c", "../d"), "esc": html.escape("<a & 'b'>"), "une": html.unescape("&eacute;&#x41;&lt;"),
            "qp": quopri.encodestring("é=".encode()).decode(), "z": zlib.decompress(zlib.compress(d * 50)).decode()[:8], "crc": binascii.crc_hqx(b"abc", 0), "pb": hashlib.pbkdf2_hmac("sha256", b"p", b"s", 1000).hex(), "avail": sorted(hashlib.algorithms_guaranteed)[:4], "u4": uuid.uuid4().version}
