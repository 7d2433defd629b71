# refused: ModuleNotFoundError: sqlite3
import duckdb

print(duckdb.sql("select 1"))
