def generate_tests(config=None):
    return [{"vars": {"q": "gen " + str(config)}}]


def many():
    return [
        {"vars": {"q": "m%d" % i}, "assert": [{"type": "contains", "value": "m"}]} for i in range(2)
    ]


def cfg(config):
    return [{"vars": {"q": f"c{i} {config}"}} for i in range(config["n"])]
