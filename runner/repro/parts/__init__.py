"""Parts of the scripts that show a fault: `bundle` puts what one needs into one file that imports nothing of ours.

They are modules, so that types and style are checked here as everywhere; a script fills `given`. A part imports from
`runner` by name only, and what it imports must not need more than torch.
"""
