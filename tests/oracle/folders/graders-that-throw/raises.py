def get_assert(o, c):
    raise ValueError('boom')
