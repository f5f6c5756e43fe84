#!/bin/sh
# Says no to files that are too long to be mended with care, and gives the constraints where nobody has.
if [ "$(printf %s "$EVA_VAR_file" | wc -l)" -gt 400 ]; then
  echo "the file has more than 400 lines" >&2
  exit 1
fi
[ -n "$EVA_VAR_constraints" ] || echo "constraints=Add no comments."
