"""python -m s2s"""

import sys

import s2s

if sys.argv[1:] == ["--prefix"]:
    print(s2s.PREFIX)
else:
    s2s.main()
