import rsa


def main(args):
    p, q = 2**521 - 1, 2**607 - 1
    public = rsa.PublicKey(p * q, 65537)
    private = rsa.PrivateKey(p * q, 65537, pow(65537, -1, (p - 1) * (q - 1)), p, q)
    signed = rsa.sign(b"message", private, "SHA-256")
    found = [signed.hex()[:40], rsa.verify(b"message", signed, public)]
    try:
        rsa.verify(b"other", signed, public)
    except rsa.VerificationError as error:
        found.append(str(error))
    found.append(rsa.decrypt(rsa.encrypt(b"secret", public), private).decode())
    made_public, made_private = rsa.newkeys(256)
    found.append(rsa.decrypt(rsa.encrypt(b"x", made_public), made_private).decode())
    found.append(private.save_pkcs1()[:40].decode())
    return found
