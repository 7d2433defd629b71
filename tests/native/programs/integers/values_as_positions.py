# script
import decimal
import warnings

import numpy as np
import pandas as pd
from scipy import ndimage
from sklearn.model_selection import ParameterGrid, ParameterSampler

warnings.simplefilter("ignore")
for values in (
    np.array([2**40, 2**40 + 3, 2**40]),
    np.array([[3, 3], [7, 1]], dtype=np.uint8),
    np.array([2**63 + 1], dtype=np.uint64),
):
    found = ndimage.value_indices(values)
    print([(int(key), [place.tolist() for place in places]) for key, places in found.items()])
    print(len(ndimage.value_indices(values, ignore_value=int(values.flat[0]))))
for values in ([2**31], [1, 2**40], [-(2**31) - 1], [1.0, 3e9], [1, 2], [1.5]):
    for kind in ("integer", "signed", "unsigned", "float"):
        print(values, kind, pd.to_numeric(pd.Series(values), downcast=kind).dtype)
context = decimal.getcontext()
decimal.Decimal(1) / 3
print(context, context.flags[decimal.Inexact], [flag.__name__ for flag in context.flags])
with decimal.localcontext() as local:
    local.prec = 5
    print(decimal.Decimal(2).sqrt(), local)
grid = {name: list(range(60)) for name in "abcdef"}
print(list(ParameterSampler(grid, 3, random_state=1)), len(ParameterGrid({"a": [1, 2]})))
