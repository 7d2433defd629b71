import os


def main(args):
    fs = [open(f"n{i}.txt", "w") for i in range(200)]
    for i, f in enumerate(fs):
        f.write(str(i))
    for f in fs:
        f.close()
    return sum(int(open(f"n{i}.txt").read()) for i in range(200))
