def get_assert(o, c):
    return {'nothing': 1}
