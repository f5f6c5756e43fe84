def simple_prompt(context):
    return f"""You will be provided a statement about an animal and your job is to determine how many legs that animal has.
    Here is the animal statement.
    <animal_statement>{context["vars"]["animal_statement"]}</animal_statement>"""


def better_prompt(context):
    return simple_prompt(context) + "\nReturn <answer>"
