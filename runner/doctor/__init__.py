"""What `xlabench doctor` looks at: whether numbers that are measured here and now would hold."""
