import cmath
def main(args):
    z = (3 + 4j) ** 2
    return [str(z), abs(3 + 4j), str(cmath.sqrt(-1)), cmath.phase(1j), str(cmath.exp(1j * cmath.pi).real)]
