"""Migrations of the base tables, in order of their names."""
