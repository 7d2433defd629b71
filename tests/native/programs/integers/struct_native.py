import struct
def main(args):
    return [struct.calcsize("l"), struct.pack("=q", -5).hex(), struct.calcsize("iqi"), struct.pack("<l", 7).hex()]
