"""Nothing: what it costs that there is a run at all."""


def main(args):
    return None
