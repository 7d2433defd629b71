def f(n):
    return f(n + 1)
def main(args):
    try:
        f(0)
    except RecursionError as e:
        return str(e)
