# script
import pandas as pd
df = pd.DataFrame({"a": [1, 2], "b": [3.5, 4.25]})
print(df)
print(df.describe())
