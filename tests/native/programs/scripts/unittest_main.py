# script
import unittest


class T(unittest.TestCase):
    def setUp(self):
        self.x = [1, 2, 3]

    def test_sum(self):
        self.assertEqual(sum(self.x), 6)

    def test_raises(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            1 / 0

    @unittest.skip("later")
    def test_skip(self):
        pass


import io

buf = io.StringIO()
res = unittest.TextTestRunner(stream=buf, verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
print(res.testsRun, len(res.failures), len(res.skipped), res.wasSuccessful())
print("\n".join(sorted(l for l in buf.getvalue().splitlines() if l.startswith("test_"))))
