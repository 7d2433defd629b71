# refused: ImportError: no video codec is there: write the frames as GIF
import imageio.v3 as iio
import numpy as np

iio.imwrite("a.mp4", np.zeros((3, 16, 16, 3), np.uint8), plugin="pyav")
