"""One module per page, each with `show(view)`.

The folder is not called `pages`: Streamlit takes a folder of that name beside the entry for its own list of pages, and
the first visitor of `/speedup` after a start would get a blank page instead of the one that `st.navigation` knows.
"""
