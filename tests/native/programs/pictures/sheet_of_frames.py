import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from PIL import Image
def main(args):
    f, a = plt.subplots(figsize=(1, 1)); l, = a.plot([0, 1])
    FuncAnimation(f, lambda i: l.set_ydata([0, i]), frames=3).save("a.gif", writer=PillowWriter(fps=5))
    return Image.open("a.gif").n_frames
