def main(args):
    try:
        open("nope.txt")
    except FileNotFoundError as e:
        return [e.errno, e.strerror, e.filename, str(e)]
