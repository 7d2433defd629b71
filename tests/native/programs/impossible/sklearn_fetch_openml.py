# refused: OSError|URLError: network
from sklearn.datasets import fetch_openml

X, y = fetch_openml("mnist_784", return_X_y=True)
