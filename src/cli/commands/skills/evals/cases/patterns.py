"""Compiles regular expressions, and searches with none of them. Returns the number and the fault of each that is not one."""

import re
import warnings


def main(args):
    wrong = []
    for number, pattern in enumerate(args["patterns"]):
        try:
            with warnings.catch_warnings(action="ignore"):
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as fault:
            wrong.append([number, str(fault)])
    return wrong
