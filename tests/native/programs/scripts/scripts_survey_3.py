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
    def lg():
        s = io.StringIO(); h = logging.StreamHandler(s); h.setFormatter(logging.Formatter('%(levelname)s:%(name)s:%(funcName)s:%(message)s')); l = logging.getLogger('t'); l.addHandler(h); l.setLevel(logging.INFO); l.propagate = False; l.debug('d'); l.info('i %d', 5); l.warning('w %s', 'x')
        try: 1/0
        except ZeroDivisionError: l.exception('boom')
        return s.getvalue().split('Traceback')[0], logging.getLevelName(20), l.isEnabledFor(10), l.handlers.__len__()
    def wn():
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter('always'); warnings.warn('a', UserWarning); warnings.warn('b', DeprecationWarning); return [(str(x.message), x.category.__name__) for x in w]
    def tb():
        def f(n): return 1/0 if n == 0 else f(n-1)
        try: f(2)
        except ZeroDivisionError as e: return traceback.format_exception_only(e), len(traceback.extract_tb(e.__traceback__)), [x.name for x in traceback.extract_tb(e.__traceback__)], e.__traceback__.tb_lineno > 0, traceback.format_exc().splitlines()[-1]
    def eg():
        try: raise ExceptionGroup('g', [ValueError(1), TypeError('t')])
        except* ValueError as e: r = [repr(x) for x in e.exceptions]
        except* TypeError: r = 0
        return r
    def ch():
        try:
            try: {}['a']
            except KeyError as e: raise ValueError('v') from e
        except ValueError as e: return repr(e.__cause__), e.__suppress_context__, e.add_note('n'), e.__notes__
    class TC(unittest.TestCase):
        def test_a(self): self.assertEqual(1, 1)
        def test_b(self): self.assertEqual([1, 2], [1, 3])
        @unittest.skip('s')
        def test_c(self): pass
        def test_d(self):
            with self.assertRaises(ValueError): int('x')
            with self.subTest(i=1): self.assertAlmostEqual(.1+.2, .3)
    r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(TC))
    def dtst(x):
        """
        >>> dtst(2)
        4
        >>> dtst(3)
        10
        """
        return x*x
    def fn(a, b=2, *c, d: int, e=5, **f) -> str:
        "doc"
    answers.append(attempt(lambda: sys.getsizeof(1) > 0))
    answers.append(attempt(lambda: sys.version_info.major))
    answers.append(attempt(lambda: sys.displayhook is not None))
    answers.append(attempt(lambda: sys.path is not None))
    answers.append(attempt(lambda: sys.orig_argv is not None))
    answers.append(attempt(lambda: sys.stdout.isatty()))
    answers.append(attempt(lambda: sys.stderr.writable()))
    answers.append(attempt(lambda: sys.__stdout__ is not None))
    answers.append(attempt(lambda: sys.is_stack_trampoline_active()))
    answers.append(attempt(lambda: sys._is_gil_enabled()))
    answers.append(attempt(lambda: sys.flags.utf8_mode in (0, 1)))
    answers.append(attempt(lambda: sys.flags.hash_randomization in (0, 1)))
    answers.append(attempt(lambda: sys.flags.dev_mode))
    answers.append(attempt(lambda: sys.platlibdir))
    answers.append(attempt(lambda: sys.exec_prefix == sys.prefix))
    answers.append(attempt(lambda: sys.base_exec_prefix is not None))
    answers.append(attempt(lambda: sys.stdlib_module_names.__len__() > 200))
    answers.append(attempt(lambda: sys.set_int_max_str_digits(10000)))
    answers.append(attempt(lambda: int('9'*6000).bit_length()))
    return answers
