import numpy as np
import pandas as pd


def main(args):
    rng = np.random.default_rng(11)
    px = pd.Series(100 * np.exp(np.cumsum(rng.normal(0, 0.01, 250))), index=pd.bdate_range("2023-01-02", periods=250))
    r = px.pct_change().dropna()
    sma = px.rolling(20).mean()
    ema = px.ewm(span=12).mean()
    dd = (px / px.cummax() - 1).min()
    up = (r > 0).astype(int)
    streak = up.groupby((up != up.shift()).cumsum()).cumcount().max() + 1
    delta = px.diff()
    rsi = 100 - 100 / (1 + delta.clip(lower=0).rolling(14).mean() / -delta.clip(upper=0).rolling(14).mean())
    monthly = px.resample("ME").last().pct_change()
    return {"vol": r.std() * np.sqrt(252), "sharpe": r.mean() / r.std() * 252**0.5, "sma": sma.iloc[-1], "ema": ema.iloc[-1], "dd": dd, "streak": int(streak), "rsi": rsi.iloc[-1],
            "best": str(monthly.idxmax().date()), "var95": r.quantile(0.05), "corr": r.autocorr(), "skew": r.skew(), "kurt": r.kurt(), "cross": int(((sma > ema) != (sma > ema).shift()).sum())}
