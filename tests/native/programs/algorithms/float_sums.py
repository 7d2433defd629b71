import math
def main(args):
    return [sum([0.1] * 10), math.fsum([0.1] * 10), math.dist([0, 0], [3, 4]), math.hypot(1, 2, 2), math.nextafter(1, 2), math.sumprod([1, 2], [3, 4]), math.erf(0.5), math.gamma(5.5), math.log(2**1000), math.cbrt(27)]
