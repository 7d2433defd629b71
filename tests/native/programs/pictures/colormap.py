import matplotlib as mpl, matplotlib.colors as c
def main(args):
    return [mpl.colormaps["viridis"](0.5), c.to_hex("tab:orange"), c.to_rgba("#1f77b480"), c.Normalize(0, 10)(5.)]
