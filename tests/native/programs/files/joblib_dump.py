import joblib, numpy as np
from sklearn.linear_model import LinearRegression
def main(args):
    m = LinearRegression().fit([[1.], [2.]], [2., 4.]); joblib.dump(m, "m.joblib")
    return [float(joblib.load("m.joblib").predict([[3.]])[0]), joblib.hash({"a": 1}) == joblib.hash({"a": 1})]
