def main(args):
    s = "hello, wOrld"
    return [s.title(), s.capitalize(), s.swapcase(), s.partition(","), s.center(20, "*"), s.translate(str.maketrans("lo", "01")), s.split(maxsplit=1), "a-b_c".replace("-", "_").split("_"), "x".join("abc"), s.removeprefix("he"), "abc".zfill(5), "a\tb".expandtabs(4)]
