"""The asynchronous half. `generate.py` makes `wardian._sync` from it."""
