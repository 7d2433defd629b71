"""A black-box conformance suite for servers of the Skills Protocol 0.1."""

__version__ = "0.1.0"
