def main(args):
    return open("/etc/does-not-exist/x").read()
