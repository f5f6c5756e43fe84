"""What a YAML file may expect of an output: every assertion type, read once and asked of each output.

`assertion` has the nouns, `kind` says what a type is, the families (`text`, `structured`, `code`, …) define the types,
`kinds` lists them all, `problems` finds what is wrong before anything runs, `preparing` makes expectations of them, and
`reading` reads them from a file. A new type is one `Kind` in one family. The names and keys are promptfoo's.
"""
