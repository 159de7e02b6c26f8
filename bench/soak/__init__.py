"""The whole service for half an hour under all faults in turn: what is lost, and what grows."""
