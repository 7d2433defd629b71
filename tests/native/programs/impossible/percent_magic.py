# refused: SyntaxError: magic
%matplotlib inline
import matplotlib.pyplot as plt
