# script
from tqdm import tqdm
t = 0
for i in tqdm(range(5), disable=True):
    t += i
print(t)
