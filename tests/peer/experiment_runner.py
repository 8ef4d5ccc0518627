"""What PyTorch/XLA's own test of its runner imports and executes under this name: `python -m runner`."""

import runpy

if __name__ == "__main__":
    runpy.run_module("runner", run_name="__main__", alter_sys=True)
