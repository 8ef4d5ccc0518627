"""Altair charts: each function takes a frame with the columns of the store's views and returns one chart."""
