"""What a YAML file may expect of an output: every assertion type, read once and asked of each output.

Where things are:

    nouns              assertion (an assertion, its kind, what it is asked of), kinds (the list of all types)
    from file to score reading (a file), preparing (makes expectations), grading (asks a judge), aggregate (weights)
    types by text      text, markup, structured, sql, overlap, answers
    types by numbers   bounds, embedded, measured (a number and its bound)
    types by judges    judged, retrieval, contests (across variants)
    types by agents    calls, traces, trajectory, agent_steps; spans and steps are what these look at
    types by your code user_code, webhook, plugin_types; sets hold several of any type
    your code          code_files, closed_code, values_in_code, transform
    values             values, identity (what is the same question), deviations (from promptfoo)

A new type is one `Kind` in one of these files, listed in `kinds`. The names and keys are promptfoo's.
"""
