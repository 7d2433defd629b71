# script
import doctest


def double(x):
    """
    >>> double(2)
    4
    >>> double("a")
    'aa'
    """
    return x * 2


print(doctest.testmod())
