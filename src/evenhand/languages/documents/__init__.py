"""Users' files of YAML and JSON: `tree` reads them with the place of each part, `findings` gathers what is wrong."""
