"""Reports: mechanisms and results as text, tables, pictures and pages."""
