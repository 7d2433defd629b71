import sys, io, contextlib, logging, warnings, traceback, argparse, unittest, doctest, textwrap, inspect, dis, ast, types, builtins, gc, weakref, atexit, pdb, cProfile, pstats, timeit, tracemalloc, code, cmd, optparse, getopt, string, abc


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    def cap(f):
        b = io.StringIO()
        with contextlib.redirect_stdout(b), contextlib.redirect_stderr(b):
            try: f()
            except SystemExit as e: return [b.getvalue(), repr(e.code)]
            except Exception as e: return [b.getvalue(), repr(e)]
        return b.getvalue()
    p = argparse.ArgumentParser(prog='p', description='d'); p.add_argument('x', type=int); p.add_argument('-v', '--verbose', action='store_true', help='talk'); p.add_argument('--n', type=float, default=1.5, choices=[1.5, 2.]); sub = None
    answers.append(attempt(lambda: vars(p.parse_args(['5', '-v']))))
    answers.append(attempt(lambda: cap(lambda: p.parse_args(['x']))))
    answers.append(attempt(lambda: cap(lambda: p.parse_args([]))))
    answers.append(attempt(lambda: cap(lambda: p.parse_args(['1', '--zz']))))
    answers.append(attempt(lambda: p.parse_known_args(['1', 'q'])[1]))
    def lg():
        s = io.StringIO(); h = logging.StreamHandler(s); h.setFormatter(logging.Formatter('%(levelname)s:%(name)s:%(funcName)s:%(message)s')); l = logging.getLogger('t'); l.addHandler(h); l.setLevel(logging.INFO); l.propagate = False; l.debug('d'); l.info('i %d', 5); l.warning('w %s', 'x')
        try: 1/0
        except ZeroDivisionError: l.exception('boom')
        return s.getvalue().split('Traceback')[0], logging.getLevelName(20), l.isEnabledFor(10), l.handlers.__len__()
    answers.append(attempt(lambda: lg()))
    def wn():
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter('always'); warnings.warn('a', UserWarning); warnings.warn('b', DeprecationWarning); return [(str(x.message), x.category.__name__) for x in w]
    answers.append(attempt(lambda: wn()))
    def tb():
        def f(n): return 1/0 if n == 0 else f(n-1)
        try: f(2)
        except ZeroDivisionError as e: return traceback.format_exception_only(e), len(traceback.extract_tb(e.__traceback__)), [x.name for x in traceback.extract_tb(e.__traceback__)], e.__traceback__.tb_lineno > 0, traceback.format_exc().splitlines()[-1]
    answers.append(attempt(lambda: tb()))
    def eg():
        try: raise ExceptionGroup('g', [ValueError(1), TypeError('t')])
        except* ValueError as e: r = [repr(x) for x in e.exceptions]
        except* TypeError: r = 0
        return r
    answers.append(attempt(lambda: cap(eg)))
    answers.append(attempt(lambda: repr(ExceptionGroup('m', [ValueError(1)]))))
    answers.append(attempt(lambda: ExceptionGroup('m', [ValueError(1), KeyError(2)]).split(ValueError)))
    def ch():
        try:
            try: {}['a']
            except KeyError as e: raise ValueError('v') from e
        except ValueError as e: return repr(e.__cause__), e.__suppress_context__, e.add_note('n'), e.__notes__
    answers.append(attempt(lambda: ch()))
    class TC(unittest.TestCase):
        def test_a(self): self.assertEqual(1, 1)
        def test_b(self): self.assertEqual([1, 2], [1, 3])
        @unittest.skip('s')
        def test_c(self): pass
        def test_d(self):
            with self.assertRaises(ValueError): int('x')
            with self.subTest(i=1): self.assertAlmostEqual(.1+.2, .3)
    r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(TC))
    answers.append(attempt(lambda: r.testsRun))
    answers.append(attempt(lambda: len(r.failures)))
    answers.append(attempt(lambda: len(r.skipped)))
    answers.append(attempt(lambda: r.wasSuccessful()))
    answers.append(attempt(lambda: r.failures[0][1].splitlines()[-8:]))
    def dtst(x):
        """
        >>> dtst(2)
        4
        >>> dtst(3)
        10
        """
        return x*x
    answers.append(attempt(lambda: [e.want for e in doctest.DocTestFinder().find(dtst, globs={'dtst': dtst})[0].examples]))
    def fn(a, b=2, *c, d: int, e=5, **f) -> str:
        "doc"
    answers.append(attempt(lambda: inspect.signature(fn)))
    answers.append(attempt(lambda: inspect.getdoc(fn)))
    answers.append(attempt(lambda: inspect.getfullargspec(fn).kwonlyargs))
    answers.append(attempt(lambda: fn.__code__.co_varnames))
    answers.append(attempt(lambda: fn.__annotations__))
    answers.append(attempt(lambda: inspect.isfunction(fn)))
    answers.append(attempt(lambda: inspect.getsource(fn)))
    answers.append(attempt(lambda: inspect.getmodule(fn).__name__))
    answers.append(attempt(lambda: fn.__qualname__))
    answers.append(attempt(lambda: inspect.signature(fn).bind(1, d=3).arguments))
    answers.append(attempt(lambda: inspect.getmembers(types.SimpleNamespace(a=1))[0][0] is not None))
    answers.append(attempt(lambda: inspect.stack()[0].function))
    answers.append(attempt(lambda: inspect.currentframe().f_code.co_name))
    answers.append(attempt(lambda: inspect.getsourcelines(TC)[0][0]))
    answers.append(attempt(lambda: inspect.getfile(fn) is not None))
    answers.append(attempt(lambda: fn(1)))
    answers.append(attempt(lambda: fn()))
    answers.append(attempt(lambda: fn(1, d=2, d2=3) ))
    answers.append(attempt(lambda: fn(*[1], **{'a': 2})))
    return answers
