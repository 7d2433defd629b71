from tabulate import tabulate
def main(args):
    return tabulate([["a", 1.5], ["bb", 22]], headers=["k", "v"], tablefmt="github")
