from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    docs = ["the cat sat", "the dog sat on the mat", "cats and dogs"]
    answers.append(attempt(lambda: TfidfVectorizer().fit_transform(docs).toarray()))
    answers.append(attempt(lambda: CountVectorizer(ngram_range=(1, 2)).fit_transform(docs).toarray().sum(0) * 10**10))
    answers.append(attempt(lambda: dict(sorted(CountVectorizer().fit(docs).vocabulary_.items()))))
    answers.append(attempt(lambda: HashingVectorizer(n_features=16).fit_transform(docs).toarray()))
    answers.append(attempt(lambda: list(CountVectorizer(stop_words="english").fit(docs).get_feature_names_out())))
    answers.append(attempt(lambda: CountVectorizer().fit_transform(docs).sum() * 10**10))
    answers.append(attempt(lambda: CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit_transform(docs).nnz * 10**9))
    answers.append(attempt(lambda: DictVectorizer(sparse=False).fit_transform([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])))
    answers.append(attempt(lambda: FeatureHasher(4).transform([{"a": 1, "b": 2}]).toarray()))
    answers.append(attempt(lambda: TfidfVectorizer(sublinear_tf=True, norm="l1").fit(docs).idf_))
    return answers
