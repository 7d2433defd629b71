def main(args):
    raise RuntimeError("This tool intentionally returns an error for testing")
