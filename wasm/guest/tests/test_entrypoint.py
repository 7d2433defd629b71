"""How a program's function is found and called."""

from __future__ import annotations

from tests.support import Sandbox


class Parameters(Sandbox):
    def test_the_parameters_decide_how_the_arguments_arrive(self):
        args = {"a": 1, "b": 2}
        for parameters, result, expected in [
            ("args", "args", args),
            ("", "0", 0),
            ("args=None", "args", args),
            ("args, /", "args", args),
            ("*args", "list(args)", [args]),
            ("args, verbose=False", "[args, verbose]", [args, False]),
            ("args, *more, **named", "args", args),
            ("a, b", "[a, b]", [1, 2]),
            ("b, a, c=3", "[a, b, c]", [1, 2, 3]),
            ("a, *, b", "[a, b]", [1, 2]),
            ("*, a, b=5", "[a, b]", [1, 2]),
            ("**named", "named", args),
        ]:
            with self.subTest(parameters):
                source = f"def main({parameters}):\n    return {{'r': {result}}}\n"
                self.assertEqual(self.returns(source, args=args), {"r": expected})

    def test_parameters_that_do_not_fit_are_explained(self):
        failure = self.fails("def main(sheet, limit): pass", args={"rows": 3})
        self.assertEqual(failure["type"], "TypeError")
        self.assertEqual(
            failure["message"],
            "`main(sheet, limit)` cannot be called with the arguments of this run: `args` has "
            "`rows`; define `def main(args):` to receive them as one dict",
        )

    def test_a_decorated_function_is_called_like_the_function_it_wraps(self):
        source = (
            "import functools\n"
            "def noisy(function):\n"
            "    @functools.wraps(function)\n"
            "    def wrapper(*args, **named):\n"
            "        return function(*args, **named)\n"
            "    return wrapper\n"
            "@noisy\n"
            "def main(): return 1\n"
        )
        self.assertEqual(self.returns(source, args={"a": 1}), 1)

    def test_anything_callable_can_be_the_entrypoint(self):
        for source, expected in [
            ("main = len", 1),
            ("main = lambda args: args['a']", 5),
            ("class main(dict): pass", {"a": 5}),
            ("class C:\n    def run(self, args): return args\nmain = C().run", {"a": 5}),
            ("class C:\n    def __call__(self): return 7\nmain = C()", 7),
            (
                "import functools\nmain = functools.partial(lambda x, args: [x, args], 1)",
                [1, {"a": 5}],
            ),
        ]:
            with self.subTest(source):
                self.assertEqual(self.returns(source, args={"a": 5}), expected)

    def test_awaitables_are_awaited(self):
        for source in [
            "async def main(args): return args",
            "async def inner(args): return args\ndef main(args): return inner(args)",
            "class Later:\n    def __await__(self):\n        yield from ()\n"
            "        return {'a': 1}\n"
            "def main(): return Later()",
        ]:
            with self.subTest(source):
                self.assertEqual(self.returns(source, args={"a": 1}), {"a": 1})


class Finding(Sandbox):
    def test_an_entrypoint_that_is_missing_is_reported_with_those_there_are(self):
        source = "from json import dumps\ndef run(args): pass\nx = 1"
        failure = self.fails(source, entrypoint="main")
        self.assertEqual(failure["type"], "EntrypointNotFound")
        self.assertEqual(
            failure["message"],
            "`main.py` does not define the function `main`; it defines `run`; "
            "put the code into `def main(args):` and return the result",
        )
        self.assertIsNone(failure["traceback"])

    def test_an_entrypoint_must_be_callable(self):
        failure = self.fails("main = 3", entrypoint="main")
        self.assertEqual(
            failure["message"],
            "`main` in `main.py` is no function; it defines no functions; put the code into "
            "`def main(args):` and return the result, or leave `entrypoint` out to run it as a "
            "script",
        )

    def test_another_entrypoint_can_be_named(self):
        source = "def main(args): return 1\ndef other(args): return 2"
        self.assertEqual(self.returns(source, entrypoint="other"), 2)

    def test_a_module_level_name_that_is_no_function_is_no_entrypoint(self):
        self.assertIsNone(self.returns("main = 3"))


class Modules(Sandbox):
    def test_guarded_code_runs_unless_a_function_was_asked_for(self):
        guarded = "\nif __name__ == '__main__':\n    print('guarded')\n"
        both = "def main(args): return 1" + guarded
        self.assertEqual((self.returns(both), self.printed), (1, "guarded\n"))
        self.assertEqual((self.returns(both, args={"n": 1}), self.printed), (1, ""))
        self.assertEqual((self.returns(both, entrypoint="main"), self.printed), (1, ""))
        other = "def other(): return 1" + guarded
        self.assertEqual((self.returns(other), self.printed), (None, "guarded\n"))
        self.assertEqual((self.returns(other, entrypoint="other"), self.printed), (1, ""))

    def test_the_program_is_a_module_that_others_can_find(self):
        for header in ("def main(args): return check()", "x = 1\nimport atexit"):
            source = (
                f"{header}\n"
                "import dataclasses, pickle, sys, typing\n"
                "@dataclasses.dataclass\n"
                "class Point:\n"
                "    x: 'int'\n"
                "def check():\n"
                "    assert sys.modules[__name__].Point is Point\n"
                "    assert sys.modules['__main__'].Point is Point\n"
                "    assert typing.get_type_hints(Point) == {'x': int}\n"
                "    return pickle.loads(pickle.dumps(Point(3))).x\n"
                "if __name__ == '__main__':\n    print(check())\n"
            )
            with self.subTest(header):
                value = self.returns(source)
                self.assertEqual((self.printed, value), ("3\n", 3 if "main" in header else None))

    def test_source_can_be_inspected(self):
        source = "import inspect\ndef main(args):\n    return inspect.getsource(main)\n"
        self.assertEqual(self.returns(source), source.partition("\n")[2])

    def test_the_file_of_the_program_is_in_the_workspace(self):
        source = "import os\ndef main(): return os.path.dirname(__file__) == os.getcwd()"
        self.assertIs(self.returns(source), True)

    def test_files_that_the_program_writes_can_be_imported(self):
        source = (
            "import sys\n"
            "def main():\n"
            "    sys.path.append('.')\n"
            "    open('written.py', 'w').write('x = 5')\n"
            "    import written\n"
            "    return written.x\n"
        )
        self.assertEqual(self.returns(source), 5)
