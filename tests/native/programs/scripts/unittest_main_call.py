# script
import unittest


class T(unittest.TestCase):
    def test_ok(self):
        self.assertTrue(True)

    def test_bad(self):
        self.assertIn(3, [1, 2])


if __name__ == "__main__":
    unittest.main()
