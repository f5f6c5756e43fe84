def number(text):
    return int(text.split(': ')[1])
