def get_var(var_name, prompt, other_vars):
    return {'output': var_name + other_vars['name']}
