import numpy as np


def main(args):
    rng = np.random.default_rng(7)
    product = rng.integers(0, 5, size=2000)
    price_cents = np.array([1_999_00, 24_999_00, 999_999_00, 5_00, 75_000_00])
    sold = np.bincount(product, minlength=5)
    revenue = sold * price_cents
    counts = np.bincount(product)
    counts = counts * 10**7
    share = revenue / revenue.sum()
    weighted = np.bincount(product, weights=price_cents[product])
    return {
        "sold": sold.tolist(),
        "revenue": revenue.tolist(),
        "total": int(revenue.sum()),
        "scaled": counts.tolist(),
        "share": share.round(6).tolist(),
        "weighted": weighted.tolist(),
    }
