def get_var(var_name, prompt, other_vars):
    return {"output": f" the fact of {other_vars['reader']['name']} \n"}
