import matplotlib.dates as md
import matplotlib.pyplot as plt
import pandas as pd
import numpy as np
from datetime import datetime


def main(args):
    s = pd.Series(np.arange(90), index=pd.date_range("2024-01-01", periods=90))
    fig, ax = plt.subplots(figsize=(6, 3))
    ax.plot(s.index, s.values)
    ax.xaxis.set_major_locator(md.MonthLocator())
    ax.xaxis.set_major_formatter(md.DateFormatter("%b %Y"))
    fig.autofmt_xdate()
    fig.canvas.draw()
    return {"labels": [t.get_text() for t in ax.get_xticklabels()], "num": md.date2num(datetime(2024, 1, 1)), "back": str(md.num2date(19723.5)), "lim": [round(v, 6) for v in ax.get_xlim()], "auto": [t.strftime("%d") for t in md.num2date(md.AutoDateLocator().tick_values(datetime(2024, 1, 1), datetime(2024, 1, 20)))][:5]}
