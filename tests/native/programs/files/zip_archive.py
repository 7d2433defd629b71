import zipfile, io
def main(args):
    with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("x/y.txt", "hello" * 100); z.writestr("b.bin", b"\0" * 10)
    with zipfile.ZipFile("a.zip") as z:
        z.extractall("out")
        return [z.namelist(), z.getinfo("x/y.txt").file_size, open("out/x/y.txt").read(5), z.testzip()]
