"""JSON Schemas of the files that users write, for their editors.

How this works: the keys of each schema are those that the reader of the file knows, so a schema can't fall behind; a
key without a description here is an error. Where a reader takes a value in several forms, or a template, so does the
schema: it must never mark what runs.
"""
