import datetime
import decimal

import msgpack


def main(args):
    def default(value):
        if isinstance(value, int):
            return {"large": str(value)}
        return msgpack.ExtType(5, repr(value).encode())

    out = []
    for value in (2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2**200, [2**70, {"a": -(2**80)}], decimal.Decimal("1.5")):
        try:
            out.append(msgpack.packb(value).hex())
        except TypeError as error:
            out.append(type(error).__name__)
        except OverflowError as error:
            out.append([type(error).__name__, str(error)])
        packed = msgpack.packb(value, default=default)
        out.append(str(msgpack.unpackb(packed, ext_hook=lambda code, data: [code, data.decode()])))
    pairs = msgpack.unpackb(msgpack.packb({"a": 1, "b": [2]}), object_pairs_hook=list)
    moment = datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc)
    out.append([pairs, str(msgpack.unpackb(msgpack.packb(moment, datetime=True), timestamp=3))])
    for broken in (b"\xc1", b"\x92\x01", b"\x81\xc0\x01"):
        try:
            out.append(str(msgpack.unpackb(broken)))
        except Exception as error:
            out.append([type(error).__name__, str(error)])
    return out
