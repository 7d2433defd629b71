# refused: ValueError: no video codec is there: write the frames as GIF
import imageio
import numpy as np

imageio.mimsave("a.mp4", [np.zeros((16, 16, 3), np.uint8)] * 3, fps=5)
