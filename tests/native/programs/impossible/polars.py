# refused: ModuleNotFoundError: pandas
import polars as pl
