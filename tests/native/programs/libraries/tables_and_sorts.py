import natsort
from multidict import CIMultiDict
from texttable import Texttable


def main(args):
    table = Texttable()
    table.set_cols_align(["l", "r", "c"])
    table.set_cols_dtype(["t", "f", "a"])
    table.add_rows([["name", "size", "note"], ["apple", 1.5, "a\nb"], ["kiwi", 20000, None]])
    names = ["file10.txt", "file2.txt", "File1.txt", "file-3.txt"]
    heads = CIMultiDict([("Accept", "a"), ("ACCEPT", "b")])
    return [
        table.draw(), natsort.natsorted(names), natsort.natsorted(names, alg=natsort.ns.IGNORECASE),
        natsort.natsorted(["1.5", "-3", "2e3"], alg=natsort.ns.REAL), heads.getall("accept"),
    ]
