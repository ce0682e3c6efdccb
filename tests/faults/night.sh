#!/bin/bash
# usage: night.sh [--kills N] [--seed S] [--folder F] [--build DIR] [--minutes M] [--run NUMBER]
# A night of kills: see night.py beside this file. At a low priority, one run at a time.
exec nice -n 10 python3 "$(dirname "$0")/night.py" "$@"
