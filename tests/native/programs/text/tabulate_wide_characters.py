# Tables align characters of two columns where wcwidth is installed.
import tabulate

ROWS = [["日本語", 1], ["한국어", 22], ["plain", 333], ["e\u0301", 4], ["🙂", 5]]

print(tabulate.tabulate(ROWS, headers=["語", "n"], tablefmt="grid"))
print(tabulate.tabulate([["日本語の長い文章です", 1]], maxcolwidths=[8, None]))


def main(args):
    return [tabulate.wcwidth is not None, tabulate.WIDE_CHARS_MODE]
