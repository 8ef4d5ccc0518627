"""Command lines of other harnesses, translated into the flags of `xlabench run`."""
