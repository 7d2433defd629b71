"""Runs the tests of one Python file for `wardian test`, inside the sandbox.

The tests share this interpreter, so all that reports about them is kept in local variables of
`main`, is compared with what it was before their file was imported, and is sent with a word that
the job had. What the run sends counts only if it ends by itself.
"""


def main(args):
    import ast
    import builtins
    import os
    import sys
    import types
    import unittest

    from runtime import progress

    # Tests may have a module of this name, such as the code of a skill.
    sys.modules.pop("main", None)
    sys.modules["__main__"] = types.ModuleType("__main__")
    word = args.pop("word")
    file, wanted, only_list = args["file"], args["keyword"], args["list"]
    root = "/tmp/project"
    namespace = builtins.__dict__
    original = dict(namespace)
    absent = object()
    # The most text of one test, and of all of them, in characters.
    longest, room = 16_384, [1_048_576]
    most_tests = 5_000

    def clipped(text, limit=longest):
        text = str.__str__(text) if isinstance(text, str) else ""
        if len(text) > limit:
            half = limit // 2
            text = f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
        if len(text) > room[0]:
            text = "[left out: the file has too much output]"
        room[0] -= len(text)
        return text

    def told(error):
        """The type and the message of an error, with advice where a module is missing."""
        from _wardian.packages import with_advice

        text = str(error)
        if isinstance(error, ModuleNotFoundError):
            text = with_advice(text, error.name)
        return f"{type(error).__name__}: {text}"

    unpacked, remove = [], os.unlink

    def unpack(blob, folder):
        import json

        from runtime import blobs

        content = blobs.read_bytes(blob)
        end = content.index(b"\n")
        at, places, made = end + 1, [], set()
        for path, size in json.loads(content[:end]):
            place = f"{folder}/{path}"
            above = os.path.dirname(place)
            if above not in made:
                os.makedirs(above, exist_ok=True)
                made.add(above)
            with open(place, "wb") as out:
                out.write(memoryview(content)[at : at + size])
            places.append(place)
            at += size
        return places

    def frames_of(stop):
        """The lines of a traceback that are about files of the project."""
        import traceback

        frames = traceback.extract_tb(stop.__traceback__)
        return "".join(
            f"\n  File {one.filename}, line {one.lineno}, in {one.name}: {one.line}"
            for one in frames
            if one.filename.startswith(root)
        )

    def has_conftest():
        folder = os.path.dirname(file)
        while True:
            if os.path.exists(os.path.join(root, folder, "conftest.py")):
                return True
            if not folder:
                return False
            folder = os.path.dirname(folder)

    def is_for_pytest():
        """True for a file that needs more than unittest."""
        if has_conftest():
            return True
        try:
            with open(f"{root}/{file}", "rb") as source:
                tree = ast.parse(source.read())
        except (SyntaxError, ValueError):
            return False
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and any(
                name.name.split(".")[0] == "pytest" for name in node.names
            ):
                return True
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pytest":
                return True
        pending = list(tree.body)
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node.name.startswith("test"):
                    return True
            elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                if not any(base.endswith("TestCase") for base in bases):
                    return True
            elif isinstance(node, ast.ClassDef):
                continue
            elif isinstance(node, ast.stmt):  # what stands in `if` or `try` belongs to the module
                pending.extend(ast.iter_child_nodes(node))
            elif isinstance(node, (ast.ExceptHandler, ast.match_case)):
                pending.extend(node.body)
        return False

    def has_more(module):
        """True for a module with tests that unittest does not find, wherever they come from."""
        for name, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) and name.startswith("test_"):
                return True
            if not isinstance(value, type) or not name.startswith("Test"):
                continue
            # As pytest has it: a class with a constructor, such as a client for tests, is none of them.
            if issubclass(value, unittest.TestCase) or value.__init__ is not object.__init__:
                continue
            members = [item for base in value.__mro__ for item in vars(base).items()]
            kinds = (types.FunctionType, staticmethod, classmethod)
            is_meant = getattr(value, "__test__", True) is not False
            if is_meant and any(
                key.startswith("test") and isinstance(member, kinds) for key, member in members
            ):
                return True
        return False

    def forget():
        """Forgets the modules of the project and pytest, so that pytest imports them itself."""
        for name, module in list(sys.modules.items()):
            place = getattr(module, "__file__", None)
            is_own = isinstance(place, str) and place.startswith(f"{root}/")
            if is_own or name.split(".")[0] in ("_pytest", "pytest", "pluggy"):
                del sys.modules[name]
        deciding.clear()

    # The tests by id, in their order; each value is the report about it.
    tests = {}
    errors = []

    def entry(name, line=None):
        if name not in tests:
            if len(tests) >= most_tests:
                raise RuntimeError(f"{file} has more than {most_tests} tests")
            tests[name] = {
                "id": name, "outcome": "", "message": "", "details": "", "line": line, "ms": 0,
            }
        return tests[name]

    rank = {"": 0, "passed": 1, "xpassed": 2, "skipped": 3, "xfailed": 3, "failed": 5, "error": 4}

    def note(name, outcome, message="", details="", line=None, ms=0):
        one = entry(name)
        one["ms"] += ms
        if rank[outcome] <= rank[one["outcome"]]:
            return
        one["outcome"] = outcome
        one["message"] = clipped(message, 1_000)
        one["details"] = clipped(details)
        if line is not None:
            one["line"] = line

    def is_wanted(name):
        return not wanted or wanted.lower() in name.lower()

    # The functions that decide about tests, as they were before the file was imported.
    def functions_of(prefixes):
        found = []
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] not in prefixes or not isinstance(module, types.ModuleType):
                continue
            for owner in [module, *vars(module).values()]:
                if owner is not module and not (
                    isinstance(owner, type) and owner.__module__ == name
                ):
                    continue
                members = vars(owner)
                for key, value in list(members.items()):
                    inner = value
                    if isinstance(value, (staticmethod, classmethod)):
                        inner = value.__func__
                    elif isinstance(value, property):
                        inner = value.fget
                    if isinstance(inner, types.FunctionType):
                        found.append((members, key, value, inner, inner.__code__))
        return found

    def is_changed(function):
        members, key, value, inner, code = function
        return members.get(key, absent) is not value or inner.__code__ is not code

    def restore_builtins():
        """The built-in functions that are not themselves, which are put back."""
        changed = []
        for name in original:
            if name != "_" and namespace.get(name, absent) is not original[name]:
                changed += [name]
                namespace[name] = original[name]
        return changed

    def settle(name):
        """Fails the test that has just ended if it has left something changed."""
        changed = restore_builtins()
        if changed:
            note(name, "failed", f"the test left `builtins.{changed[0]}` replaced")
        for function in deciding:
            if is_changed(function):
                members, key, value, inner, code = function
                inner.__code__ = code
                if isinstance(members, dict):
                    members[key] = value
                note(name, "failed", f"the test left `{inner.__qualname__}` of its runner replaced")
                spoiled[:] = [inner.__qualname__]

    done = [0]
    spoiled = []
    deciding = []

    def begun(name, total):
        done[0] += 1
        try:
            progress(done[0] - 1, total, name)
        except Exception:
            pass

    def use_pytest():
        if args["bytecode"]:
            # Python looks there for bytecode, and so does pytest for its plugins.
            sys.pycache_prefix = "/tmp/.bytecode"
            unpack(args["bytecode"], sys.pycache_prefix)
        try:
            import pytest  # noqa: F401
        except ImportError:
            errors.append("pytest is not on this machine: `wardian engine install` fetches it")
        else:
            run_pytest()

    def run_pytest():
        import pytest
        from _pytest import python, reports, runner, unittest as bridge  # noqa: F401

        everything.extend(functions_of({"_pytest", "pluggy", "unittest", "_wardian", "runtime"}))
        names = {"_pytest.runner", "_pytest.reports", "_pytest.python", "pluggy._callers"}
        deciding.extend(
            one for one in everything if one[3].__module__ in names and type(one[0]) is dict
        )
        raised = {}
        total = [0]

        class Recorder:
            @pytest.hookimpl(trylast=True)
            def pytest_collection_modifyitems(self, config, items):
                kept = [item for item in items if is_wanted(item.nodeid)]
                gone = [item for item in items if not is_wanted(item.nodeid)]
                if gone:
                    config.hook.pytest_deselected(items=gone)
                    items[:] = kept

            def pytest_collection_finish(self, session):
                for item in session.items:
                    entry(item.nodeid, item.location[1] + 1 if item.location[1] is not None else None)
                total[0] = len(tests)

            def pytest_collectreport(self, report):
                if report.failed:
                    errors.append(clipped(report.longreprtext))
                elif report.skipped and report.nodeid == file:
                    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
                    note(file, "skipped", reason.removeprefix("Skipped: "))

            def pytest_internalerror(self, excrepr, excinfo):
                stop = excinfo.value
                errors.append(clipped(f"pytest failed: {excinfo.typename}: {stop}{frames_of(stop)}"))

            def pytest_keyboard_interrupt(self, excinfo):
                if not errors:  # it is also how pytest ends after errors of collection
                    errors.append(clipped(f"the tests ended their run: {excinfo.typename}: {excinfo.value}"))

            def pytest_runtest_logstart(self, nodeid, location):
                begun(nodeid, total[0])

            @pytest.hookimpl(wrapper=True, tryfirst=True)
            def pytest_runtest_call(self, item):
                raised[item.nodeid] = True
                value = yield
                raised[item.nodeid] = False
                return value

            @pytest.hookimpl(tryfirst=True)
            def pytest_runtest_logreport(self, report):
                name, ms = report.nodeid, int(report.duration * 1000)
                line = report.location[1] + 1 if report.location[1] is not None else None
                crash = getattr(report.longrepr, "reprcrash", None)
                if report.failed:
                    outcome = "failed" if report.when == "call" else "error"
                    message = getattr(crash, "message", "") or str(report.longrepr or "")
                    details = report.longreprtext
                    for title, text in report.sections:
                        details += f"\n--- {title}\n{text}"
                    if crash is not None and str(crash.path).endswith("/" + file):
                        line = crash.lineno
                    note(name, outcome, message, details, line, ms)
                elif report.skipped:
                    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
                    if hasattr(report, "wasxfail"):
                        note(name, "xfailed", report.wasxfail.removeprefix("reason: "), "", line, ms)
                    else:
                        note(name, "skipped", reason.removeprefix("Skipped: "), "", line, ms)
                elif report.when == "call":
                    if raised.get(name) is not False and not hasattr(report, "wasxfail"):
                        note(name, "failed", "the test did not return, and was reported as passed")
                    outcome = "xpassed" if hasattr(report, "wasxfail") else "passed"
                    note(name, outcome, "", "", line, ms)

            def pytest_runtest_logfinish(self, nodeid, location):
                settle(nodeid)

        recorder = Recorder()
        options = ["-q", "--color=no", "--tb=short", "--rootdir", root, "-o", "addopts=", "-W", "default"]
        for plugin in ("cacheprovider", "pastebin", "junitxml", "stepwise", "faulthandler", "setuponly",
                       "setupplan"):
            options += ["-p", f"no:{plugin}"]
        if only_list:
            options += ["--collect-only"]

        class Registered:
            def pytest_configure(self, config):
                managers.append(config.pluginmanager)

        managers = []
        code = pytest.main([*options, file], plugins=[recorder, Registered()])
        restore_builtins()
        if errors:
            return
        if not managers or not managers[0].is_registered(recorder):
            errors.append("the tests removed their runner")
        if int(code) not in (0, 1, 5):
            errors.append(f"pytest ended with code {int(code)}")

    def run_unittest():
        import importlib.util
        import io
        import time
        import traceback

        everything.extend(functions_of({"unittest", "_wardian", "runtime"}))
        deciding.extend(one for one in everything if (one[3].__module__ or "").startswith("unittest."))
        folder, name = os.path.split(f"{root}/{file}")
        name = name.removesuffix(".py")
        while os.path.exists(f"{folder}/__init__.py"):
            folder, package = os.path.split(folder)
            name = f"{package}.{name}"
        sys.path.insert(0, folder)
        module = importlib.import_module(name)
        loader = unittest.TestLoader()
        suite = loader.loadTestsFromModule(module)
        errors.extend(clipped(text) for text in loader.errors)
        if errors:
            return
        if has_more(module) or not suite.countTestCases():
            del module, suite
            forget()
            use_pytest()
            return

        def id_of(test):
            parts = test.id().removeprefix(f"{name}.").split(".") if hasattr(test, "id") else [str(test)]
            return "::".join([file, *parts])

        def line_of(test):
            method = getattr(type(test), getattr(test, "_testMethodName", ""), None)
            code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
            return code.co_firstlineno if code is not None and code.co_filename.endswith(file) else None

        def flat(suite):
            for one in suite:
                if isinstance(one, unittest.TestSuite):
                    yield from flat(one)
                else:
                    yield one

        chosen = [one for one in flat(suite) if is_wanted(id_of(one))]
        for one in chosen:
            entry(id_of(one), line_of(one))
        if only_list:
            return

        class Result(unittest.TestResult):
            def startTest(self, test):
                self.began = time.perf_counter()
                begun(id_of(test), len(tests))
                super().startTest(test)

            def stopTest(self, test):
                super().stopTest(test)
                entry(id_of(test))["ms"] += int((time.perf_counter() - self.began) * 1000)
                settle(id_of(test))

            def _failed(self, test, error, outcome, what=""):
                details = self._exc_info_to_string(error, test)
                line = None
                for frame in traceback.extract_tb(error[2]):
                    if frame.filename.endswith("/" + file):
                        line = frame.lineno
                message = f"{what}{told(error[1])}"
                if type(test).__name__ == "_ErrorHolder":
                    inside = test.id().partition("(")[2].rstrip(")")
                    for one in self.below(inside):
                        note(one, "error", f"{test.id()}: {message}", details, line)
                    return
                note(id_of(test), outcome, message, details, line)

            def below(self, inside):
                if inside == name:
                    return list(tests)
                prefix = "::".join([file, *inside.removeprefix(f"{name}.").split(".")]) + "::"
                return [one for one in tests if one.startswith(prefix)]

            def addError(self, test, err):
                self._failed(test, err, "failed")

            def addFailure(self, test, err):
                self._failed(test, err, "failed")

            def addSubTest(self, test, subtest, err):
                if err is not None:
                    self._failed(test, err, "failed", f"{subtest._subDescription()} ")

            def addSuccess(self, test):
                note(id_of(test), "passed")

            def addSkip(self, test, reason):
                if type(test).__name__ == "_ErrorHolder":
                    for one in self.below(test.id().partition("(")[2].rstrip(")")):
                        note(one, "skipped", reason)
                else:
                    note(id_of(test), "skipped", reason)

            def addExpectedFailure(self, test, err):
                note(id_of(test), "xfailed", f"{err[0].__name__}: {err[1]}")

            def addUnexpectedSuccess(self, test):
                note(id_of(test), "failed", "the test passed, and was expected to fail")

        result = Result()
        result.buffer = True
        ordered = unittest.TestSuite(chosen)
        kept = sys.stdout, sys.stderr
        try:
            ordered.run(result)
        finally:
            sys.stdout, sys.stderr = kept
        restore_builtins()

    everything = []
    try:
        os.makedirs(root, exist_ok=True)
        for blob in args["blobs"]:
            unpacked.extend(unpack(blob, root))
        os.chdir(root)
        places = [f"{root}/{place}" for place in args["places"]]
        sys.path.extend(place.rstrip("/") for place in places if os.path.isdir(place))
        sys.argv = [file]
        if is_for_pytest():
            use_pytest()
        else:
            run_unittest()
        if not tests and not errors and not wanted:
            errors.append("the file has no test: neither unittest nor pytest finds one in it")
    except BaseException as stop:
        restore_builtins()
        text = f"the tests ended their run: {told(stop)}{frames_of(stop)}"
        errors.append(clipped(text))
    left = restore_builtins()
    if left:
        errors.append(f"the tests left `builtins.{left[0]}` replaced")
    changed = [one[3].__qualname__ for one in everything if is_changed(one)] + spoiled
    if changed:
        errors.append(f"the tests replaced `{changed[0]}` of their runner")
    for one in tests.values() if left or changed else ():
        if one["outcome"] in ("passed", "xpassed", "skipped", "xfailed"):
            one["outcome"], one["message"] = "error", "its result cannot be trusted: see the file"
    for place in unpacked:  # pictures of the project are no results of the run
        try:
            remove(place)
        except Exception:
            pass
    for one in tests.values():
        if not one["outcome"] and not only_list:
            one["outcome"], one["message"] = "error", "the test did not run to its end"
    return {"word": word, "errors": errors[:20], "tests": list(tests.values())}
