# script
x = 10
if x > 5:
    x * 2
