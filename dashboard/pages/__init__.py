"""One module per page, each with `show(view)`; and what pages share."""
