"""The cases as data: what each of them cites and needs."""

import re
import unittest
from pathlib import Path

from skills_protocol_conformance import __version__
from skills_protocol_conformance.case import CASES, EXTENSION, JSON_RPC, SHOULD, case
from skills_protocol_conformance.cases import AREAS
from skills_protocol_conformance.runner import chosen
from skills_protocol_conformance.skills_folder import folder


class Cases(unittest.TestCase):
    def test_every_case_cites_a_sentence_and_quotes_are_short(self):
        for one in CASES:
            with self.subTest(one.id):
                self.assertTrue(one.source.section and one.source.sentence and one.source.document)
                self.assertLessEqual(len(one.source.sentence), 200)
                self.assertTrue(one.description.endswith("."), one.description)

    def test_areas_are_those_of_the_report(self):
        self.assertEqual({one.area for one in CASES}, set(AREAS))

    def test_extensions_are_apart(self):
        self.assertEqual({one.area for one in CASES if one.level == EXTENSION}, {"ext", "sessions"})
        self.assertTrue(all(one.level != EXTENSION for one in chosen(SHOULD)))

    def test_cases_of_an_extension_are_an_area_of_their_own(self):
        for one in CASES:
            self.assertEqual(one.extension, "sessions" if one.area == "sessions" else None, one.id)

    def test_the_skills_that_cases_need_are_there_and_all_are_needed(self):
        there = {place.name for place in folder().iterdir() if place.is_dir()}
        self.assertEqual({skill for one in CASES for skill in one.skills}, there)

    def test_an_id_is_there_once_and_a_case_has_a_description(self):
        with self.assertRaises(ValueError):
            case(CASES[0].id, SHOULD, JSON_RPC("1", "A"))
        with self.assertRaises(ValueError):
            case("rpc.new", SHOULD, JSON_RPC("1", "A"))(lambda session: None)
        with self.assertRaises(ValueError):
            case("rpc.new", "may", JSON_RPC("1", "A"))

    def test_the_version_is_that_of_the_package(self):
        project = Path(__file__).resolve().parent.parent.joinpath("pyproject.toml").read_text()
        self.assertEqual(re.findall(r'(?m)^version = "(.*)"$', project), [__version__])


if __name__ == "__main__":
    unittest.main()
