#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The tests of pyverbs as Debian's package has them, a process per file (pyverbs-files.py): with
# Python 3.12 and later a process may end in a fault after tests that were skipped, although all
# others passed. Results are read from the text that unittest prints. Files for devices of other
# vendors are left out, as are those that share memory with a GPU. run.sh reads it.

FOLDER=/usr/share/doc/rdma-core

# A result is `... ok` and so on at the end of a line, which may be that of the description below
# the name; output of the test may be between.
read_results() {
  awk -v file="$1" '
    /^test_[A-Za-z0-9_]+ \(/ { name = $1; sub(/^test_/, "", name) }
    name != "" && match($0, /(^|\.\.\. |[^A-Za-z])(ok|FAIL|ERROR|skipped .*)$/) {
      text = substr($0, RSTART); sub(/^\.\.\. /, "", text); sub(/^[^A-Za-z]/, "", text)
      verdict = text ~ /^ok/ ? "ok" : text ~ /^skipped/ ? "skip" : "bad"
      if (verdict == "skip") { sub(/^skipped /, "", text); gsub(/^[\047"]|[\047"]$|#/, "", text) }
      print verdict, name, text
      name = ""
    }
    END { if (name != "") print "bad", name, "unfinished" }' $WORK/pyverbs
}

# excuse TEST: prints why its failure is not the adapter's, or nothing.
excuse() {
  case "$ADAPTER $1" in
    "mthca cq.resize_cq")
      grep -A 40 "^FAIL: test_resize_cq " $WORK/pyverbs | grep -q "AssertionError: 12 != 22" &&
        echo "driver: ib_mthca returns ENOMEM for the device's BAD_SIZE, not EINVAL"
      ;;
  esac
}

# A file has up to 26 tests.
ordinary_limit=$LIMIT LIMIT=1200
[ $ADAPTER = mlx5 ] && others=efa || others='efa|mlx5'
# As part of all tests it does with fewer messages, too.
[ -n "$LEFT_OUT" ] && MESSAGES=25 || MESSAGES=1000
if [ -n "$SHORT" ]; then files="test_pd test_cq test_qp"; else
  files=$(cd $FOLDER/tests && ls test_*.py | grep -Ev "cuda|$others" | sed 's/\.py$//')
fi
# The runner has imported all files, and ends when its standard input closes. Descriptor 3 reads as
# well: a write to a runner that has failed does not end this shell then.
rm -f $WORK/files $WORK/statuses
mkfifo $WORK/files $WORK/statuses
(cd $FOLDER && exec python3 -W ignore /foreign/pyverbs-files.py $LIMIT $WORK/pyverbs $MESSAGES --dev $DEVICE \
  --port $PORT ${GID_INDEX:+--gid $GID_INDEX}) <$WORK/files >$WORK/statuses 2>$WORK/runner &
exec 3<>$WORK/files 4<$WORK/statuses
for file in $files; do
  wanted "${file#test_}" || continue
  case " $LEFT_OUT " in *" ${file#test_} "*) continue ;; esac
  echo "$file" >&3
  read -r status <&4 || { fail "${file#test_}" $WORK/runner; break; }
  group=${file#test_}
  read_results "$group" >$WORK/results
  [ -s $WORK/results ] || fail "$group" $WORK/pyverbs
  while read -r verdict name text; do
    case $verdict in
      ok) pass "$group.$name" ;;
      skip) skip "$group.$name" "$text" ;;
      *)
        grep -A 40 -E "^(FAIL|ERROR): test_$name " $WORK/pyverbs | grep -m1 -B4 '^$' >$WORK/why
        reason=$(excuse "$group.$name")
        if [ -n "$reason" ]; then excused "$group.$name" "$reason"; else fail "$group.$name" $WORK/why; fi
        ;;
    esac
  done <$WORK/results
done
exec 3>&- 4<&-
LIMIT=$ordinary_limit
