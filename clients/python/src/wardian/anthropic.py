"""Tool loops for the Anthropic SDK: `pip install 'wardian[anthropic]'`."""

from wardian._async.anthropic import AsyncAnthropicRun, run_tools_async
from wardian._loop import TooManyTurns
from wardian._sync.anthropic import AnthropicRun, run_tools

__all__ = ["AnthropicRun", "AsyncAnthropicRun", "TooManyTurns", "run_tools", "run_tools_async"]
