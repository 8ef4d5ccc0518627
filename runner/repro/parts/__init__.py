"""Parts of the scripts that show a fault: `bundle` puts those that one needs into one file, with nothing of ours left.

Each is a module that runs by itself once `given` is filled, so that types and style are checked here as everywhere.
A part imports from `runner` by name only, and what it imports must not need more than torch.
"""
