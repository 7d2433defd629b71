# refused: ModuleNotFoundError: nltk
import nltk

nltk.download("punkt")
