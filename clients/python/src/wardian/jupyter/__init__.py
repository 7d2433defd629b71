"""A Jupyter kernel whose cells run in a session of a server: `pip install 'wardian[jupyter]'`.

`python -m wardian.jupyter install` makes it available to Jupyter. The process of the kernel is a
client of the server, and executes no cells itself.
"""

from __future__ import annotations
