"""What stands for a screen, with a package of the test's own in the place of matplotlib."""

from __future__ import annotations

import types

from _wardian import figures
from tests.support import Sandbox


class Figures(Sandbox):
    def test_backends_with_a_screen_become_the_one_without(self):
        chosen = []
        package = types.SimpleNamespace(use=lambda backend, **options: chosen.append(backend))
        figures.patch_package(package)
        for backend in ("TkAgg", "Qt5Agg", "MacOSX", "Agg", "svg"):
            package.use(backend, force=True)
        self.assertEqual(chosen, ["agg", "agg", "agg", "Agg", "svg"])
