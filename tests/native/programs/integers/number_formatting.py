import numpy as np
import pandas as pd


def main(args):
    v = [0.1 + 0.2, 1e16, 1e-5, 123456789.123456789, 1 / 3, 2.5, 1e22, 5e-324, 1.7976931348623157e308]
    return {
        "repr": [repr(x) for x in v], "str": [f"{x:.3f}" for x in v[:6]], "g": [f"{x:g}" for x in v], "e": [f"{x:.2e}" for x in v],
        "comma": f"{10**12:,} {10**12:_} {-5:+d} {255:#x} {255:08b} {255:o}", "pct": f"{0.12345:.1%}", "round": [round(x) for x in (0.5, 1.5, 2.5, -0.5)],
        "r2": [round(2.675, 2), round(1234.5, -2), round(12345, -3)], "np": repr(np.float64(0.1)), "npi": repr(np.int64(5)), "arr": repr(np.array([1e10, 1, 1e-10])),
        "arri": repr(np.arange(3)), "f32": str(np.float32(0.1)), "hex": (0.1).hex(), "ratio": (0.1).as_integer_ratio(), "old": "%5.2f|%-8s|%05d|%x" % (3.14159, "ab", 42, 255),
        "df": pd.DataFrame({"a": [1.0, 22.333333], "b": [10**10, 5]}).to_string(), "center": f"{'x':*^9}|{3.0:>8}|{7:<4}|", "n": f"{1234567.891:n}",
    }
