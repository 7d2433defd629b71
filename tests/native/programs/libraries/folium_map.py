import io
import re

import folium
from folium.plugins import HeatMap, MarkerCluster


def main(args):
    shown = folium.Map(location=[48.2, 16.37], zoom_start=12)
    folium.Marker([48.2, 16.37], popup="<b>Vienna</b>", tooltip="here").add_to(shown)
    folium.GeoJson({"type": "Point", "coordinates": [16.4, 48.2]}).add_to(shown)
    MarkerCluster([[48.1, 16.3], [48.3, 16.5]]).add_to(shown)
    HeatMap([[48.2, 16.37, 0.5]]).add_to(shown)
    file = io.BytesIO()
    shown.save(file, close_file=False)
    page = re.sub(r"[0-9a-f]{32}", "ID", file.getvalue().decode())
    return [page.startswith("<!DOCTYPE html>"), len(page.splitlines()), page.count("L.marker("),
            "Vienna" in page, shown.get_bounds()]
