# refused: : 
import webbrowser
if not webbrowser.open("https://example.com"):
    raise RuntimeError("no browser")
