"""Finds damage in a database, reads what is intact, builds a new database, and reports."""
