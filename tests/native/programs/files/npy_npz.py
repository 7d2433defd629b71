import numpy as np
def main(args):
    np.save("a.npy", np.eye(2)); np.savez("z.npz", x=np.arange(3), y=[1.5])
    z = np.load("z.npz"); np.savetxt("t.csv", [[1, 2.5]], delimiter=",")
    return [np.load("a.npy").tolist(), sorted(z.files), z["x"].tolist(), open("t.csv").read(), np.loadtxt("t.csv", delimiter=",").tolist(), np.load("a.npy", mmap_mode=None).shape]
