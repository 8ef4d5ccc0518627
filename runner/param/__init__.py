"""The command line of PARAM, made into requests."""
