"""The batch runner: plan, measuring processes, records. torch is imported only in a measuring process."""
