"""A Jupyter kernel whose cells run in a session of a server: `pip install 'wardian[jupyter]'`.

`python -m wardian.jupyter install` makes it available to Jupyter. The process of the kernel does not
execute cells: it is a client of the server.
"""

from __future__ import annotations
