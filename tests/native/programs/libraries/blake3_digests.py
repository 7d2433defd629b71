import blake3

LENGTHS = [0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2049, 3072, 3073, 4097, 8193, 16384, 31744, 102400, 300001]
KEY = b"whats the Elvish word for friend"


def refused(call):
    try:
        return repr(call())
    except (TypeError, ValueError, OverflowError, BufferError) as error:
        return [type(error).__name__, str(error)]


def main(args):
    data = bytes(index % 251 for index in range(max(LENGTHS)))
    hasher, parts = blake3.blake3(max_threads=blake3.blake3.AUTO), []
    for end in range(0, 5000, 700):
        hasher.update(data[end : end + 700])
        parts.append(hasher.hexdigest(8))
    other = hasher.copy().update(b"more")
    hasher.reset()
    with open("data.bin", "wb") as file:
        file.write(data)
    return [
        [blake3.blake3(data[:length]).hexdigest() for length in LENGTHS],
        [blake3.blake3(data[:length], key=KEY).hexdigest() for length in LENGTHS[::3]],
        [blake3.blake3(data[:length], derive_key_context="a context").hexdigest() for length in LENGTHS[::3]],
        [blake3.blake3(data[:length]).hexdigest(length=131, seek=61) for length in (0, 1024, 5000)],
        parts, other.hexdigest(), hasher.hexdigest(), hasher.update_mmap("data.bin").hexdigest(),
        [hasher.name, hasher.digest_size, hasher.block_size, hasher.key_size],
        [refused(call) for call in (
            lambda: blake3.blake3("text"), lambda: blake3.blake3(b"", key=b"short"),
            lambda: blake3.blake3(b"", key=KEY, derive_key_context="c"), lambda: hasher.digest(-1),
            lambda: hasher.digest(2**64), lambda: blake3.blake3(memoryview(b"abcd")[::2]),
            lambda: blake3.blake3(max_threads=0), lambda: hasher.digest("3"), lambda: hasher.digest(0))],
    ]
