import sys
print('py', sys.argv[1])
