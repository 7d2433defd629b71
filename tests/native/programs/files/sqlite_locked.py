import sqlite3
def main(args):
    a = sqlite3.connect("l.db"); a.execute("create table t(x)"); a.commit(); a.execute("begin exclusive")
    b = sqlite3.connect("l.db", timeout=0.1)
    try:
        b.execute("insert into t values (1)")
    except sqlite3.OperationalError as e:
        return str(e)
