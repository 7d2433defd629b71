import shutil, os
def main(args):
    os.makedirs("s/t"); open("s/t/f", "w").write("x")
    shutil.copytree("s", "c"); shutil.copy2("s/t/f", "f2"); shutil.move("c/t", "moved"); shutil.rmtree("s")
    shutil.make_archive("arch", "zip", "moved")
    return [sorted(os.listdir(".")), os.listdir("moved"), shutil.disk_usage(".").total > 0, shutil.which("nope")]
