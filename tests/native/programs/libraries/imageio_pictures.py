import hashlib
import io

import imageio
import imageio.v2 as iio2
import imageio.v3 as iio3
import numpy as np


def digest(array):
    array = np.ascontiguousarray(array)
    return [list(array.shape), str(array.dtype), hashlib.sha256(array.tobytes()).hexdigest()[:16]]


def main(args):
    frames = [np.full((20, 30, 3), (i * 60, 255 - i * 60, 7), np.uint8) for i in range(4)]
    iio2.mimsave("a.gif", frames, duration=100, loop=0)
    imageio.v3.imwrite("b.png", frames[2])
    with iio2.get_writer("c.gif", mode="I", duration=50) as writer:
        for frame in frames:
            writer.append_data(frame)
    held = io.BytesIO()
    iio3.imwrite(held, frames, extension=".gif", loop=2)
    iio3.imwrite("d.jpg", frames[0], quality=90)
    gray = (np.arange(100, dtype=np.uint16) * 600).reshape(10, 10)
    iio3.imwrite("e.png", gray)
    reader = iio2.get_reader("a.gif")
    properties = iio3.improps("b.png")
    try:
        iio3.imread("missing.png")
    except FileNotFoundError as error:
        missing = type(error).__name__
    return [
        [digest(frame) for frame in iio2.mimread("a.gif")], digest(iio3.imread("b.png")), reader.get_length(),
        [digest(frame) for frame in iio3.imiter("c.gif")], digest(iio3.imread(held.getvalue(), index=1)),
        list(iio3.imread("d.jpg").shape), digest(iio3.imread("e.png")), list(properties.shape), str(properties.dtype),
        iio3.immeta("a.gif")["duration"], iio3.immeta(held.getvalue())["loop"], missing,
    ]
