"""Explore: a question and its best private answer, looked at from all sides. No data is opened here."""
