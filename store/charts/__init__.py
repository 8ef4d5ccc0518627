"""Charts of pages, reports and the weekly review, drawn by Altair.

Each function takes a frame with the columns of the store's views and returns one chart. A browser shows it, or
`export` makes an SVG or PNG of it.
"""
