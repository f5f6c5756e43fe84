"""The languages in users' files: YAML and JSON with the place of each part, templates, and JavaScript."""
