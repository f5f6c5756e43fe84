"""A provider that answers with its settings, as a function and as a program."""

import json
import sys


def call_api(prompt, options, context):
    config = options["config"]
    return {"output": f"{prompt} {config['z']} {config.get('deep')}"}


if __name__ == "__main__" and len(sys.argv) > 2:
    print(call_api(sys.argv[1], json.loads(sys.argv[2]), {})["output"])
