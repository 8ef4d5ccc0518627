"""Scripts of one file that show a fault, and the proof that they do. Imports no torch; scripts run by themselves.

`show` does it all for one fault: `candidates` from small to large, each written by `bundle` and run by `prove`.
"""
