# script
a = 3; b = 4; (a**2 + b**2) ** 0.5
