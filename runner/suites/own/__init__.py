"""Suite `own`: models of the user's own, by file, module, exported program, configuration or name."""
