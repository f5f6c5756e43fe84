def call_api(p, o, c):
    return {'output': None}
def empty(p, o, c):
    return {'output': ''}
