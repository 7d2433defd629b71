from collections import Counter
import re
def main(args):
    text = "The quick brown fox. The lazy dog! The end, fox?"
    words = re.findall(r"[a-z']+", text.lower())
    return Counter(words).most_common(3)
