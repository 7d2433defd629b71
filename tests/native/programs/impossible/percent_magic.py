# refused: SyntaxError: notebook
%matplotlib inline
import matplotlib.pyplot as plt
