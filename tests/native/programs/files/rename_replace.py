import os
def main(args):
    open("a", "w").write("1"); open("b", "w").write("2")
    os.replace("a", "b")
    return [open("b").read(), os.listdir("."), os.path.getsize("b")]
