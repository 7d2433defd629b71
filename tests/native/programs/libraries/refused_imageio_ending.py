# refused: OSError: Could not find a backend to open `a.svg``
import os

import imageio
import imageio.v3 as iio
import numpy as np

picture = np.zeros((4, 5, 3), np.uint8)
for name in ("a.heic", "a.xyz", "a.txt"):
    try:
        imageio.imwrite(name, picture)
    except ValueError as error:
        assert str(error) == f"Could not find a backend to open `{name}`` with iomode `wi`.", error
    else:
        raise AssertionError(name)
    assert not os.path.exists(name), name
with open("a.unknown", "w") as file:
    file.write("no picture")
try:
    iio.imread("a.unknown")
except OSError as error:
    assert str(error) == "Could not find a backend to open `a.unknown`` with iomode `r`.", error
iio.imwrite("a.dcm", picture)
iio.imwrite("a.other", picture, plugin="pydicom")
for name in ("a.dcm", "a.other"):
    assert iio.imread(name, plugin="pydicom").shape == (4, 5, 3)
iio.imwrite("a.svg", picture)
