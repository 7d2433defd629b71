import struct
def main(args):
    return [struct.calcsize("l"), struct.calcsize("P"), struct.calcsize("n"), struct.pack("=q", -5).hex(), struct.calcsize("iqi"), struct.pack("<l", 7).hex()]
