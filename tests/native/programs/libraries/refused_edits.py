# refused: NotImplementedError: Levenshtein.editops needs native code
import Levenshtein

Levenshtein.editops("a", "b")
