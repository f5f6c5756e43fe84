import sys, json

c = json.loads(sys.argv[1])
print("LEG", json.dumps(sorted(c)), c["vars"]["q"])
