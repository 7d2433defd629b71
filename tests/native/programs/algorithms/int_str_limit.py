def main(args):
    return len(str(10**5000))
