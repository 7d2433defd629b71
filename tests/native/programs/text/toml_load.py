import tomllib, tomli_w
def main(args):
    d = tomllib.loads('[a]\nx = 1\ny = [1.5, 2]\nt = 1979-05-27T07:32:00Z\n[[b]]\nn = "q"')
    return [str(d), tomli_w.dumps({"k": {"a": [1, 2]}})]
