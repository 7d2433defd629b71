"""Searches text with a regular expression."""

import re


def main(args):
    text = " ".join("user" + str(i) + "@host" + str(i % 97) + ".example" for i in range(50000))
    found = re.findall(r"([a-z]+)(\d+)@([a-z]+\d*)\.example", text)
    return [len(found), found[-1][1]]
