from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity
def main(args):
    v = TfidfVectorizer()
    m = v.fit_transform(["the cat sat", "the dog sat", "a bird flew"])
    return [sorted(v.vocabulary_), cosine_similarity(m).round(8).tolist()]
