# script
import datetime
import io

import msgpack

record = {"id": 7, "name": "Zoë", "tags": ["x", "y"], "ratio": 0.1, "raw": b"\x00\x01", "none": None}
packed = msgpack.packb(record)
print(len(packed), packed.hex())
print(msgpack.unpackb(packed) == record)

buffer = io.BytesIO()
for number in (1, 128, 70_000, -5, 2**40, 1.5):
    buffer.write(msgpack.packb([number, str(number)]))
buffer.seek(0)
print(list(msgpack.Unpacker(buffer)))


def encode(value):
    if isinstance(value, datetime.date):
        return msgpack.ExtType(1, value.isoformat().encode())
    if isinstance(value, complex):
        return [value.real, value.imag]
    raise TypeError(f"cannot pack {type(value).__name__}")


def decode(code, data):
    return datetime.date.fromisoformat(data.decode()) if code == 1 else msgpack.ExtType(code, data)


text = msgpack.packb({"day": datetime.date(2026, 5, 6), "z": 1 + 2j}, default=encode)
print(msgpack.unpackb(text, ext_hook=decode))
for broken in (packed[:-1], packed + b"\xc0", b"\xc1", b"\x81\x01\x02"):
    try:
        print(msgpack.unpackb(broken))
    except Exception as error:
        print(type(error).__name__, error)
try:
    msgpack.packb(object(), default=encode)
except TypeError as error:
    print(error)
msgpack.unpackb(msgpack.packb(msgpack.Timestamp(5, 6))).nanoseconds
