# script
from tqdm import tqdm
import sys

total = 0
for i in tqdm(range(5), disable=True):
    total += i
print(total)
for i in tqdm(range(3), file=sys.stdout, ascii=True, bar_format="{n_fmt}/{total_fmt}"):
    pass
print("done")
