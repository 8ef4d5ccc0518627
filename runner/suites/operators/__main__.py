"""`python -m runner.suites.operators -c FILE …`: hands over to PARAM's command line, `python -m runner.param`."""

import runpy

runpy.run_module("runner.param", run_name="__main__")
