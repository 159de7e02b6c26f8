"""The public test kit: a manual clock, and a server for tests."""
