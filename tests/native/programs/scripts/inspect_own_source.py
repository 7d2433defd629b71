# script
import inspect


def add(a: int, b: int = 2, *rest, key="k", **kw) -> int:
    """Adds."""
    return a + b


print(inspect.getsource(add))
print(inspect.signature(add), inspect.getdoc(add), add.__annotations__)
print(inspect.currentframe().f_lineno, inspect.stack()[0].function)
print(add.__code__.co_varnames, add.__defaults__, inspect.isfunction(add))
print(inspect.getfullargspec(add).kwonlydefaults)
