from textblob import TextBlob, Word


def main(args):
    blob = TextBlob("The movie was surprisingly good. I really enjoyed it, although the ending was terrible.")
    sentiment = blob.sentiment
    return {
        "polarity": round(sentiment.polarity, 9),
        "subjectivity": round(sentiment.subjectivity, 9),
        "sentences": [str(sentence) for sentence in blob.sentences],
        "words": list(blob.words),
        "plural": [Word(word).pluralize() for word in ("cat", "child", "box")],
        "spelled": str(TextBlob("I havv goood speling").correct()),
    }
