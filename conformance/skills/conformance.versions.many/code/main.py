"""Tells its version."""


def main(args):
    return {"version": "1.10.0"}
