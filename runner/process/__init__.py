"""What runs inside a measuring process, and the server that forks it. Only here is torch imported."""
