# script
import numpy as np
import pandas as pd

df = pd.DataFrame(np.arange(24).reshape(6, 4) * 1.5e9, columns=list("ABCD"), index=pd.date_range("2024-06-01", periods=6))
print(df)
print(df.astype(int))
print(df.T.head(2))
s = pd.Series([1, 2, None, 4], name="v")
print(s, s.sum(), s.mean(), sep="\n")
print(pd.Series([True, None, False]))
print(pd.Series(["a", None, "c"]).fillna("?").str.upper())
wide = pd.DataFrame({f"col{i}": range(3) for i in range(25)})
print(wide.head(1))
print(df.head(1).to_markdown())
