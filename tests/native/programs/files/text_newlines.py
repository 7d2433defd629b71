def main(args):
    open("n", "w", newline="\r\n").write("a\nb\n")
    return [open("n", "rb").read().decode(), open("n").read(), open("n", newline="").readlines()]
