# refused: RuntimeError: for PNG, SVG or PDF draw with matplotlib
import plotly.graph_objects as go

go.Figure(go.Bar(y=[1, 2])).show(renderer="png")
