from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer


def main(args):
    judge = SentimentIntensityAnalyzer()
    return [judge.polarity_scores(text) for text in ("My heart is full 😀", "flawed", "not good")]
