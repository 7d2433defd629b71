"""The eight tools for models, for a tool loop of your own."""

from wardian._async.tools import AsyncToolBox
from wardian._async.tools import ToolAnswer as AsyncToolAnswer
from wardian._pictures import Picture
from wardian._sync.tools import ToolAnswer, ToolBox

__all__ = ["AsyncToolAnswer", "AsyncToolBox", "Picture", "ToolAnswer", "ToolBox"]
