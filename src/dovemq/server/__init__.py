"""HTTP on sockets, the admin API, and the root account's key file."""
