"""The suite that the Jupyter project has for kernels, in full."""

from __future__ import annotations

from typing import Any

import jupyter_kernel_test  # pyright: ignore[reportMissingTypeStubs]
import pytest
from talk import PATIENCE, started


@pytest.mark.usefixtures("kernels")
class TestKernel(jupyter_kernel_test.KernelTests):
    """The samples of the suite. Those for `clear_output` are not applicable: see the test."""

    kernel_name = "wardian"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys\nprint('failed', file=sys.stderr)"
    code_generate_error = "raise ValueError('no')"
    code_page_something = "zip?"
    code_inspect_sample = "zip"
    completion_samples = [
        {"text": "zi", "matches": {"zip"}},
        {"text": "str.endsw", "matches": {"endswith"}},
        {"text": "nothing_of_this_name", "matches": set[str]()},
    ]
    complete_code_samples = [
        "1",
        "print('hello, world')",
        "def double(x):\n  return x * 2\n\n",
        "await later()",
        "%time sum(range(9))",
        "%%time\nsum(range(9))\n",
        "for x in y:\n    %time x\n",
    ]
    incomplete_code_samples = ["print('''hello", "def double(x):\n  x * 2", "x = [1,", "%%time\n1"]
    invalid_code_samples = ["import = 7q", "x ==== 1", "return\0"]
    code_execute_result = [{"code": "1, 2", "result": "(1, 2)"}]
    code_display_data = [
        {
            "code": "class H:\n    _repr_html_ = lambda self: '<b>h</b>'\ndisplay(H())",
            "mime": "text/html",
        },
        {
            "code": "class P:\n    _repr_png_ = lambda self: b'\\x89PNG'\ndisplay(P())",
            "mime": "image/png",
        },
    ]
    code_history_pattern = "1?*2"
    supported_history_operations = ("tail", "range", "search")
    code_clear_output = "display(1)\nfrom IPython.display import clear_output\nclear_output()"

    @classmethod
    def setUpClass(cls) -> None:
        cls.km = started()
        cls.kc = cls.km.client()
        cls.kc.start_channels()
        cls.kc.wait_for_ready(timeout=PATIENCE)

    def test_clear_output(self) -> None:
        """The message `clear_output` removes what a frontend already shows. A session displays at
        the end of a cell, so objects that were cleared are never sent."""
        self.flush_channels()
        reply, messages = self.execute_helper(self.code_clear_output)
        assert reply["content"]["status"] == "ok" and not messages


@pytest.mark.usefixtures("kernels")
class TestWelcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "wardian"
    support_iopub_welcome = True

    @classmethod
    def setUpClass(cls) -> None:
        cls.km = started()
        cls.kc = cls.km.client()


def test_nothing_of_the_suite_is_left_out() -> None:
    """A sample that is missing would skip its test."""
    names = [
        name for name in vars(jupyter_kernel_test.KernelTests) if "sample" in name or "code" in name
    ]
    samples: dict[str, Any] = {name: getattr(TestKernel, name) for name in names}
    assert len(samples) >= 13
    assert not [name for name, sample in samples.items() if not sample]
