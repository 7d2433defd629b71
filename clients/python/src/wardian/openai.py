"""Tool loops for the SDK of OpenAI: `pip install 'wardian[openai]'`."""

from wardian._async.openai import AsyncOpenAIRun, run_tools_async
from wardian._loop import TooManyTurns
from wardian._sync.openai import OpenAIRun, run_tools

__all__ = ["AsyncOpenAIRun", "OpenAIRun", "TooManyTurns", "run_tools", "run_tools_async"]
