"""Runs and what they say, shown: on a terminal, as JSON, HTML, Markdown, JUnit, CSV, and in other tools' formats."""
