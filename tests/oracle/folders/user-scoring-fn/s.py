def func(scores, context):
    return {'pass': False, 'score': scores['A'] / 2, 'reason': 'py'}
