"""Plan: what is public about a source, and what is asked of it, by form. Only schemas are opened here."""
