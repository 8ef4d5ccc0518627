"""The steps from base tables to the rows of the results."""
