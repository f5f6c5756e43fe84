def generate_tests(config=None):
    return [{"vars": {"q": "hgen " + str(config)}}]
