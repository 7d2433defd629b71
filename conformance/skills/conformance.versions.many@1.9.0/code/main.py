"""Tells its version."""


def main(args):
    return {"version": "1.9.0"}
