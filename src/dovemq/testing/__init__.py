"""The public kit for tests: a clock to turn by hand and a server to run against."""
