"""Charts of pages, reports and the weekly review, drawn by Altair.

Each function takes a frame with the columns of the store's views and returns one chart. A browser shows the chart, or
`export` converts it to SVG or PNG.
"""
