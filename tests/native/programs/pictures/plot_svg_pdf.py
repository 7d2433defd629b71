import matplotlib.pyplot as plt
def main(args):
    f, a = plt.subplots(1, 2, figsize=(4, 2)); a[0].pie([1, 2]); a[1].hist([1, 1, 2]); f.savefig("c.svg"); f.savefig("c.pdf")
    return [open("c.svg").read(5), open("c.pdf", "rb").read(5).decode()]
