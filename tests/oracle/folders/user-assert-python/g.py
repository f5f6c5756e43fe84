def get_assert(output, context):
    return {'pass': True, 'score': 0.9, 'reason': str(context['vars']['n'])}
def named(output, context):
    return output == 'x'
def scores(output, context):
    return {'pass': True, 'score': 0.5, 'reason': 'r', 'named_scores': {'tone': 0.3, 'len': len(output) / 100}}
