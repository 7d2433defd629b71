"""`python -m skills_protocol_conformance`."""

import sys

from .cli import main

sys.exit(main())
