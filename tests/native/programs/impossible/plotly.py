# refused: ModuleNotFoundError: matplotlib
import plotly.express as px
