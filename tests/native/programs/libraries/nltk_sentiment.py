from nltk.sentiment.vader import SentimentIntensityAnalyzer


def main(args):
    judge = SentimentIntensityAnalyzer()
    texts = ["I love this, it's GREAT!!!", "Not bad at all :P", "The flawed plan broke my heart.",
             "Badass move :p", "The book is on the table.", "I hate waiting, but the food was good."]
    return [len(judge.lexicon), [judge.polarity_scores(text) for text in texts]]
