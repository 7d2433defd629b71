"""The parts of `prove-sessions`. They need nothing but Python's standard library, and for the agent pip."""
