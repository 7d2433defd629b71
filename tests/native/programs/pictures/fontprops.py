from matplotlib.font_manager import FontProperties, findfont
from matplotlib.textpath import TextPath
def main(args):
    p = TextPath((0, 0), "Ag", size=20)
    return [findfont(FontProperties(family="DejaVu Sans")).rsplit("/", 1)[1], [round(float(v), 4) for v in p.get_extents().bounds]]
