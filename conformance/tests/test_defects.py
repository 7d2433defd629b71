"""The suite passes a right server, and finds each defect, with exactly the cases that it concerns."""

import unittest

from skills_protocol_conformance.case import CASES, EXTENSION
from skills_protocol_conformance.runner import PASSED, chosen, run

from .defects import DEFECTS
from .stand_in import StandIn


def failing(server):
    """The cases that fail, with their messages."""
    outcomes = run(server, chosen(EXTENSION))
    return {outcome.case.id: outcome.message for outcome in outcomes if outcome.status != PASSED}


class Defects(unittest.TestCase):
    def test_a_right_server_passes_all_cases(self):
        self.assertEqual(failing(StandIn()), {})

    def test_a_defect_fails_exactly_its_cases(self):
        for name, spoil, expected in DEFECTS:
            with self.subTest(name):
                server = StandIn()
                spoil(server)
                failed = failing(server)
                self.assertEqual(set(failed), expected, failed)

    def test_every_case_is_failed_by_a_defect(self):
        found = set().union(*(cases for _, _, cases in DEFECTS))
        self.assertEqual({case.id for case in CASES}, found)

    def test_defects_have_names_of_their_own(self):
        names = [name for name, _, _ in DEFECTS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
