def make():
    return [{'vars': {'a': str(i)}, 'assert': [{'type': 'equals', 'value': str(i)}]} for i in range(3)]
def conf(config):
    return [{'vars': {'a': 'c%d' % config['n']}}]
