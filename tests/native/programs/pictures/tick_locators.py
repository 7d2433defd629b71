import matplotlib.ticker as t
def main(args):
    return [t.MaxNLocator(5).tick_values(0, 97).tolist(), t.PercentFormatter(1)(0.256), t.EngFormatter()(12345)]
