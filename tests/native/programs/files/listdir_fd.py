import os
def main(args):
    os.mkdir("d"); open("d/a", "w").close()
    f = os.open("d", os.O_RDONLY)
    return [os.listdir(f), [e.name for e in os.scandir(f)], os.stat("a", dir_fd=f).st_size]
