import sqlite3, os
def main(args):
    c = sqlite3.connect("w.db")
    c.execute("create table t(x)")
    with c: c.execute("insert into t values (3)")
    c.close()
    return [sqlite3.connect("w.db").execute("select x from t").fetchone(), os.path.getsize("w.db")]
