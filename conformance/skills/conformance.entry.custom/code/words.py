"""A module beside the entrypoint."""

WORD = "a word of the helper"
