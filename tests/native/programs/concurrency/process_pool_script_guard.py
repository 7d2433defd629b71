# script
import concurrent.futures
import math

PRIMES = [112272535095293, 1099726899285419, 115280095190773]


def is_prime(n):
    for i in range(2, min(int(math.isqrt(n)) + 1, 20000)):
        if n % i == 0:
            return False
    return True


def run():
    with concurrent.futures.ProcessPoolExecutor() as executor:
        for number, prime in zip(PRIMES, executor.map(is_prime, PRIMES)):
            print("%d is prime: %s" % (number, prime))


if __name__ == "__main__":
    run()
