# refused: ModuleNotFoundError: sqlite3
from sqlalchemy import create_engine, text

with create_engine("sqlite://").connect() as c:
    print(c.execute(text("select 1")).scalar())
