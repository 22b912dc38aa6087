"""All that must be right for the promise. The rest of the package only proposes."""
