"""Allocators: they give topics the consumers that the scheduler wants."""
