from multiprocessing.dummy import Pool
def main(args):
    with Pool(4) as p: return p.map(len, ["a", "bb", "ccc"])
