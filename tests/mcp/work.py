"""The work of the agent in `agent.py`: a report of orders, written step by step.

Each step needs what the steps before have left: a generator in the middle of its loop, a half-fed hash, a
database in memory, a file that is open. Executed anywhere, it gives the same report.
"""

import hashlib
import itertools
import sqlite3

CUSTOMERS = ("Ada", "Blaise", "Charles", "Dorothy", "Edsger")


def orders():
    """Orders without end, always the same."""
    state = 88_172_645_463_325_252
    for number in itertools.count(1):
        state = state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407 & (1 << 64) - 1
        yield number, CUSTOMERS[(state >> 40) % len(CUSTOMERS)], (state >> 20) % 100_000


def take(number):
    """Takes the orders of a step; returns their sum in cents."""
    taken = list(itertools.islice(coming, 5 + number % 3))
    book.executemany("INSERT INTO orders VALUES (?, ?, ?)", taken)
    digest.update(repr(taken).encode())
    return sum(cents for _, _, cents in taken)


def resume(done):
    """Begins, or goes on after so many steps, whose part of the report is there."""
    global coming, book, digest, report
    coming, digest = orders(), hashlib.sha256()
    book = sqlite3.connect(":memory:")
    book.execute("CREATE TABLE orders (number INTEGER, customer TEXT, cents INTEGER)")
    report = open("report.md", "a")
    if done == 0:
        report.write("# Orders\n\n")
    for number in range(1, done + 1):
        take(number)
    report.flush()


def step(number):
    """Adds a section to the report."""
    cents = take(number)
    best = book.execute(
        "SELECT customer, SUM(cents) FROM orders GROUP BY customer ORDER BY 2 DESC, 1 LIMIT 1"
    ).fetchone()
    report.write(f"## Part {number}\n\n{cents / 100:.2f} more; {best[0]} leads with {best[1] / 100:.2f}. ")
    report.write(f"So far {digest.copy().hexdigest()[:12]}.\n\n")
    report.flush()


def finish():
    """Ends the report."""
    count, cents = book.execute("SELECT COUNT(*), SUM(cents) FROM orders").fetchone()
    report.write(f"{count} orders, {cents / 100:.2f} in all, {digest.hexdigest()}\n")
    report.close()
