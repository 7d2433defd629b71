# refused: RuntimeError: no browser is there to draw figures of plotly as pictures: fig.write_html(file)
import plotly.express as px

px.bar(x=["a", "b"], y=[1, 2]).write_image("bars.png")
