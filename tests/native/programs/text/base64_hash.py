import base64, hashlib, hmac, zlib
def main(args):
    b = "héllo".encode()
    return [base64.b64encode(b).decode(), base64.urlsafe_b64encode(b"\xff\xfe").decode(), hashlib.sha256(b).hexdigest(), hashlib.md5(b).hexdigest(), hashlib.blake2b(b, digest_size=8).hexdigest(), hmac.new(b"k", b, "sha1").hexdigest(), zlib.crc32(b), hashlib.sha3_256(b).hexdigest()]
