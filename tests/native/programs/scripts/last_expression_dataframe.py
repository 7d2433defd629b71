# script
import pandas as pd

df = pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")})
df["c"] = df.a**2
df[df.a > 1].to_dict("records")
