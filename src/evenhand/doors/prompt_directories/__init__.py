"""The third front door: folders of prompts, each with its cases, its hooks and the evidence that it works.

`library` finds them, `prompt`, `cases` and `assertions` read them, `plan` makes a plan of their cases, `content` says
what evidence is about, `evidence` keeps it, `gates` says what it is enough for.
"""
