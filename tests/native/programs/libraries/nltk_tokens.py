import nltk
from nltk.corpus import stopwords
from nltk.stem import PorterStemmer, SnowballStemmer
from nltk.tokenize import RegexpTokenizer, sent_tokenize, word_tokenize


def main(args):
    text = "Dr. Smith doesn't run at 5 p.m. in Washington, D.C. He prefers e.g. mornings! Doesn't he?"
    words = word_tokenize(text)
    stops = set(stopwords.words("english"))
    kept = [word.lower() for word in RegexpTokenizer(r"\w+").tokenize(text) if word.lower() not in stops]
    return {
        "sentences": sent_tokenize(text),
        "german": sent_tokenize("Das kostet ca. 5 Euro. Prof. Maier zahlt.", language="german"),
        "words": words,
        "kept": kept,
        "stems": [PorterStemmer().stem(word) for word in ("running", "flies", "happily")],
        "snowball": [SnowballStemmer("german").stem(word) for word in ("Katzen", "laufend")],
        "common": nltk.FreqDist(words).most_common(3),
        "bigrams": list(nltk.bigrams(words))[:3],
        "distance": nltk.edit_distance("kitten", "sitting"),
        "languages": len(stopwords.fileids()) > 25,
    }
