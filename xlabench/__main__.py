"""`python -m xlabench`."""

import sys

from xlabench import main

sys.exit(main())
