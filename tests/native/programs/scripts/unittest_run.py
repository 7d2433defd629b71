# script
import io, unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(1 + 1, 2)
r = unittest.main(argv=["x"], exit=False, testRunner=unittest.TextTestRunner(stream=io.StringIO())).result
print(r.testsRun, r.wasSuccessful())
