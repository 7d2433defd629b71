# refused: ModuleNotFoundError: there is no browser: fig.write_html(file) of plotly makes a page
import kaleido
