"""What runs inside a benchmark process, and the server that forks it. Only here is torch imported."""
