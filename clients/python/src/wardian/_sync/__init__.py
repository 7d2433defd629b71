# Made from `_async/__init__.py` by `generate.py`: change that file, not this one.
"""The synchronous half."""
