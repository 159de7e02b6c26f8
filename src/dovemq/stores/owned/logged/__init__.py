"""The journal over a log of groups, for stores that several front ends share."""
