# refused: LookupError: append that folder to nltk.data.path
from nltk.corpus import wordnet

wordnet.synsets("dog")
