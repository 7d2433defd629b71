# script
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(1 + 1, 2)
r = unittest.main(argv=["x"], exit=False, verbosity=0).result
print(r.testsRun, r.wasSuccessful())
