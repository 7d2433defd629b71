"""Nothing is done here: the manifest is what counts."""


def main(args):
    return {}
