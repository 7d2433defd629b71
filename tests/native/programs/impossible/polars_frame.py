# refused: ModuleNotFoundError: pandas
import polars as pl

print(pl.DataFrame({"a": [1]}))
