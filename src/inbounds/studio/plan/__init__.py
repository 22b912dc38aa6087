"""Plan: a form for the public facts of a source and the statistics to release. Only schemas are opened here."""
