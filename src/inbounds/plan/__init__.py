"""Plans: what to release from which table."""
