# refused: ModuleNotFoundError: matplotlib
import plotly.graph_objects as go

go.Figure(go.Bar(y=[1, 2])).write_html("a.html")
