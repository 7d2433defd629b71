# refused: ModuleNotFoundError: plotly
import altair as alt
