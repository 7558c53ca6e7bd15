"""What commands report with: numbers, tables and figures, one style for all, pages and files."""
