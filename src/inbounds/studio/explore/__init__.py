"""Explore: a query and its best private mechanism, from all sides. No data is opened here."""
