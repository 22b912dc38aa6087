"""The checker in JavaScript, in a real Chromium, against Python."""
