# script
import warnings
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as w:
    warnings.warn("careful", UserWarning)
print(len(w), w[0].message)
