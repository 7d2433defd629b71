import matplotlib.pyplot as plt
from PIL import Image
def main(args):
    plt.bar(["a", "b"], [1, 2]); plt.savefig("c.jpg", dpi=40)
    i = Image.open("c.jpg")
    return [i.size, i.format]
