"""SQL scripts that bring `state.sqlite` to the newest tables, in the order of their names."""
