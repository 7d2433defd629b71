# script
import time
import unittest


class T(unittest.TestCase):
    def test_ok(self):
        self.assertTrue(True)

    def test_bad(self):
        self.assertIn(3, [1, 2])


time.perf_counter = lambda: 0.0  # the report names the duration

if __name__ == "__main__":
    unittest.main()
