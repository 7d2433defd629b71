import hashlib
import json

import numpy as np
import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots


def plain(figure):
    content = json.loads(figure.to_json())
    del content["layout"]["template"]
    return content


def main(args):
    frame = pd.DataFrame({"city": ["Wien", "Graz", "Linz", "Wien", "Graz", "Linz"], "year": [2023] * 3 + [2024] * 3,
                          "sales": [3.5, 1.25, 2, 4, 1.5, 2.25]})
    bars = px.bar(frame, x="city", y="sales", color="year", barmode="group", title="Sales")
    lines = px.line(frame, x="year", y="sales", color="city", facet_col="city", markers=True)
    cloud = px.scatter(px.data.iris(), x="sepal_width", y="sepal_length", color="species", trendline="ols")
    counts = px.histogram(frame, x="sales", nbins=4)
    parts = px.pie(frame, names="city", values="sales", hole=0.3)
    tree = px.treemap(frame, path=["year", "city"], values="sales")
    both = make_subplots(rows=1, cols=2, subplot_titles=("heat", "box"), specs=[[{}, {"secondary_y": True}]])
    both.add_trace(go.Heatmap(z=np.arange(6).reshape(2, 3), colorscale="Viridis"), row=1, col=1)
    both.add_trace(go.Box(y=[1, 2, 3, 10], name="b"), row=1, col=2)
    both.update_layout(template="plotly_dark", height=400, xaxis_title="x")
    both.add_hline(y=0.5, line_dash="dash")
    surface = go.Figure(go.Surface(z=np.outer(np.arange(3), np.arange(3))))
    figures = [bars, lines, cloud, counts, parts, tree, both, surface]
    pages = [figure.to_html(full_html=False, include_plotlyjs=False, div_id="chart") for figure in figures]
    bars.write_html("bars.html", include_plotlyjs="cdn")
    bars.write_json("bars.json")
    again = pio.read_json("bars.json")
    try:
        bars.update_layout(no_such_setting=1)
    except ValueError as error:
        wrong = str(error).splitlines()[0]
    whole = bars.to_html()
    return [
        [plain(figure) for figure in (bars, counts, parts, both)],
        [hashlib.sha256(page.encode()).hexdigest()[:16] for i, page in enumerate(pages) if i != 2],
        len(cloud.data), pages[2].count("OLS trendline"), again == bars, wrong,
        whole.startswith("<html>"), len(whole) > 4_000_000, "plotly.js v" in whole,
        "cdn.plot.ly" in open("bars.html").read(), px.colors.sequential.Viridis[0], sorted(pio.templates)[:3],
    ]
