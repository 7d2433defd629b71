# script
import doctest
def f(x):
    """
    >>> f(2)
    4
    """
    return x * 2
print(doctest.run_docstring_examples(f, {"f": f}), doctest.testmod())
