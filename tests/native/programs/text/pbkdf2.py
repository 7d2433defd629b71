import hashlib
def main(args):
    return [hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000).hex(), hashlib.scrypt(b"pw", salt=b"na", n=16, r=8, p=1, dklen=16).hex()]
