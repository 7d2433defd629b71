# refused: FileNotFoundError: input_blobs
import pandas as pd

df = pd.read_csv("/home/user/Downloads/sales_2024.csv")
print(df.head())
