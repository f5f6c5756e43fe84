def ext(name, context):
    if name == 'beforeEach':
        context['test']['vars']['added'] = 'py'
        return context
