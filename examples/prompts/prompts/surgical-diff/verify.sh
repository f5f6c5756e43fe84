#!/bin/sh
# Whatever it says, it keeps to the marks, or says that there is nothing to do.
grep -Eq '^END$|no change|nothing to mend' "$EVA_OUTPUT_FILE"
