import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, MinMaxScaler
import pandas as pd


def main(args):
    docs = ["free money now", "meeting at noon", "win money prize", "project meeting notes", "claim free prize"]
    y = [1, 0, 1, 0, 1]
    nb = make_pipeline(CountVectorizer(), MultinomialNB()).fit(docs, y)
    tf = TfidfVectorizer(ngram_range=(1, 2))
    m = tf.fit_transform(docs)
    cv = CountVectorizer().fit_transform(docs)
    X = np.array([[1, 2, 3], [4, 5, 7], [7, 8, 8], [2, 1, 0]])
    pca = PCA(2).fit(X)
    df = pd.DataFrame({"c": ["r", "g", "r"], "v": [1, 10, 5]})
    ct = ColumnTransformer([("o", OneHotEncoder(), ["c"]), ("s", MinMaxScaler(), ["v"])])
    return {"pred": nb.predict(["free meeting", "money prize"]).tolist(), "vocab": len(tf.vocabulary_), "tf": m.toarray().sum(axis=1).round(6).tolist(), "cv": (cv.sum(axis=0) * 10**10).tolist(), "cvdt": str(cv.dtype),
            "evr": pca.explained_variance_ratio_.round(8).tolist(), "ct": np.asarray(ct.fit_transform(df)).tolist(), "le": LabelEncoder().fit_transform(["b", "a", "b"]).tolist(),
            "poly": PolynomialFeatures(3).fit_transform([[2000, 3000]]).tolist(), "ord": OrdinalEncoder().fit_transform([["x"], ["a"]]).tolist(), "voc": {k: int(v) for k, v in list(sorted(tf.vocabulary_.items()))[:4]}}
