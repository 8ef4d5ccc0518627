"""Parts of the store's benchmarks."""
