import sqlite3
def main(args):
    a = sqlite3.connect("d.db"); a.execute("create table t(x)"); a.execute("insert into t values (1)"); a.commit()
    b = sqlite3.connect("d.db"); b.execute("insert into t values (2)"); b.commit()
    return a.execute("select * from t").fetchall()
