# script
x = [1, 2, 3]
sum(x) * 2
