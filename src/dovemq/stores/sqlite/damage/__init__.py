"""What becomes of a damaged database: found out, read page by page, rebuilt, told."""
