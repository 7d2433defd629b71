# refused: ModuleNotFoundError: sqlite3
import psycopg2
