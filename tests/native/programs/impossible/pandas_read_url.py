# refused: : network
import pandas as pd
print(pd.read_csv("https://example.com/x.csv"))
