"""Tool loops for the OpenAI SDK: `pip install 'wardian[openai]'`.

`run_tools` uses Chat Completions, `run_responses` uses the Responses API.
"""

from wardian._async.openai import (
    AsyncOpenAIRun,
    AsyncResponsesRun,
    run_responses_async,
    run_tools_async,
)
from wardian._loop import TooManyTurns
from wardian._sync.openai import OpenAIRun, ResponsesRun, run_responses, run_tools

__all__ = [
    "AsyncOpenAIRun",
    "AsyncResponsesRun",
    "OpenAIRun",
    "ResponsesRun",
    "TooManyTurns",
    "run_responses",
    "run_responses_async",
    "run_tools",
    "run_tools_async",
]
