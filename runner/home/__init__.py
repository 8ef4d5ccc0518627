"""What `xlabench.toml` of a home says."""
