# refused: ModuleNotFoundError: sqlite3
import duckdb
