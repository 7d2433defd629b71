"""The suite passes a right server, and finds each defect, with exactly the cases that it concerns."""

import unittest

from skills_protocol_conformance.case import CASES, EXTENSION
from skills_protocol_conformance.runner import PASSED, chosen, run

from .defects import DEFECTS
from .stand_in import StandIn


def failing(server, cases):
    """The cases that fail, with their messages."""
    outcomes = run(server, cases)
    return {outcome.case.id: outcome.message for outcome in outcomes if outcome.status != PASSED}


def concerned(expected):
    """All cases, but those of an extension for its own defects alone: a cell of a session is a call of
    run_code, and has the defects of that method too."""
    extensions = {None, *(case.extension for case in CASES if case.id in expected)}
    return [case for case in chosen(EXTENSION) if case.extension in extensions]


class Defects(unittest.TestCase):
    def test_a_right_server_passes_all_cases(self):
        self.assertEqual(failing(StandIn(), chosen(EXTENSION)), {})

    def test_a_defect_fails_exactly_its_cases(self):
        for name, spoil, expected in DEFECTS:
            with self.subTest(name):
                server = StandIn()
                spoil(server)
                failed = failing(server, concerned(expected))
                self.assertEqual(set(failed), expected, failed)

    def test_every_case_is_failed_by_a_defect(self):
        found = set().union(*(cases for _, _, cases in DEFECTS))
        self.assertEqual({case.id for case in CASES}, found)

    def test_defects_have_names_of_their_own(self):
        names = [name for name, _, _ in DEFECTS]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
