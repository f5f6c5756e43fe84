import not_there_at_all
def get_assert(o, c):
    return True
