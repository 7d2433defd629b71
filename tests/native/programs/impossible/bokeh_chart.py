# refused: ModuleNotFoundError: plotly
from bokeh.plotting import figure, output_file, save

output_file("a.html")
save(figure())
