import sqlite3
def main(args):
    c = sqlite3.connect(":memory:")
    c.executescript("create table t(id integer primary key, n text, v real); insert into t(n, v) values ('a', 1.5), ('b', 2.5), ('a', 4);")
    return [c.execute("select n, sum(v), count(*) from t group by n order by 2 desc").fetchall(), c.execute("with recursive f(a, b) as (select 1, 1 union all select b, a + b from f limit 60) select max(a) from f").fetchone(), c.execute("select row_number() over (order by v), n from t").fetchall(), c.execute("select 9223372036854775807, typeof(2147483648)").fetchone()]
