import pickle, shelve
def main(args):
    with open("p", "wb") as f: pickle.dump({"a": {1, 2}, "b": (1, [2])}, f)
    with shelve.open("s") as s: s["k"] = [1, 2]
    with shelve.open("s") as s: k = s["k"]
    return [str(pickle.load(open("p", "rb"))), k]
