"""The HTTP server: sockets, TLS, limits, and the admin API."""
