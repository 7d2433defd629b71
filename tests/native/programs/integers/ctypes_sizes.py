import ctypes


def main(args):
    names = ("c_int", "c_long", "c_ulong", "c_size_t", "c_ssize_t", "c_longlong", "c_short")
    kinds = [getattr(ctypes, name) for name in names]
    return {
        "sizes": [ctypes.sizeof(kind) for kind in kinds],
        "values": [ctypes.c_size_t(-1).value, ctypes.c_ssize_t(2**35).value, ctypes.c_int(2**31).value],
    }
