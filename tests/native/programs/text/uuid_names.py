import uuid
def main(args):
    return [str(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org")), str(uuid.uuid3(uuid.NAMESPACE_URL, "http://x")), len(str(uuid.uuid4())), uuid.UUID(int=5).hex]
