"""Machine learning: scikit-learn with its common estimators, each fitted once."""

import numpy
import pandas
import sklearn
import sklearn.cluster
import sklearn.compose
import sklearn.datasets
import sklearn.decomposition
import sklearn.ensemble
import sklearn.feature_extraction.text
import sklearn.impute
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.neighbors
import sklearn.pipeline
import sklearn.preprocessing
import sklearn.svm
import sklearn.tree


def fit_models():
    """Fits, predicts and scores on a handful of rows."""
    numbers = numpy.random.default_rng(1).normal(size=(40, 3))
    target = numbers @ [1.0, 2.0, 3.0]
    classes = (target > 0).astype(int)
    train, test, y_train, y_test = sklearn.model_selection.train_test_split(
        numbers, classes, random_state=1
    )
    scaled = sklearn.pipeline.make_pipeline(
        sklearn.preprocessing.StandardScaler(), sklearn.linear_model.LogisticRegression()
    )
    for model in (
        scaled,
        sklearn.tree.DecisionTreeClassifier(max_depth=2),
        sklearn.ensemble.RandomForestClassifier(n_estimators=2),
        sklearn.ensemble.GradientBoostingClassifier(n_estimators=2),
        sklearn.neighbors.KNeighborsClassifier(3),
        sklearn.svm.SVC(),
    ):
        predicted = model.fit(train, y_train).predict(test)
        sklearn.metrics.accuracy_score(y_test, predicted)
    sklearn.metrics.classification_report(y_test, predicted, zero_division=0)
    sklearn.linear_model.LinearRegression().fit(numbers, target).score(numbers, target)
    sklearn.model_selection.cross_val_score(scaled, numbers, classes, cv=2)
    sklearn.cluster.KMeans(2, n_init=1).fit_predict(numbers)
    sklearn.decomposition.PCA(2).fit_transform(numbers)
    sklearn.feature_extraction.text.TfidfVectorizer().fit_transform(["a cat", "a dog"])
    table = pandas.DataFrame({"n": [1.0, None], "c": ["a", "b"]})
    sklearn.compose.make_column_transformer(
        (sklearn.impute.SimpleImputer(), ["n"]), (sklearn.preprocessing.OneHotEncoder(), ["c"])
    ).fit_transform(table)


fit_models()
