import sqlite3

import pandas as pd


def main(args):
    con = sqlite3.connect(":memory:")
    df = pd.DataFrame({"dept": ["a", "a", "b", "b", "b"], "sal": [3_000_000_000, 50, 70, 2**40, 10], "hired": pd.to_datetime(["2020-01-01", "2021-05-01", "2019-03-03", "2022-01-01", "2020-07-07"])})
    df.to_sql("emp", con, index=False)
    q = pd.read_sql("select dept, count(*) n, sum(sal) s, avg(sal) a from emp group by dept order by dept", con)
    w = pd.read_sql_query("select dept, sal, rank() over (partition by dept order by sal desc) r, sum(sal) over (order by sal) cum from emp", con, dtype={"cum": "int64"})
    t = pd.read_sql("select * from emp where hired > ?", con, params=("2020-06-01",), parse_dates=["hired"])
    cur = con.execute("select json_group_array(sal), max(hired), typeof(sal), total(sal) from emp")
    return {"q": q.to_dict("records"), "dt": q.dtypes.astype(str).to_dict(), "w": w.to_dict("records"), "t": t.hired.dt.strftime("%d.%m.%Y").tolist(), "cur": cur.fetchone(), "ver": sqlite3.sqlite_version_info >= (3, 35), "n": con.execute("select changes(), last_insert_rowid()").fetchone()}
