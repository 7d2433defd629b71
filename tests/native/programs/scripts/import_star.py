# script
from math import *
from collections import *
print(floor(e), Counter("aab")["a"], sorted(OrderedDict(a=1)))
