# What the benches share: building, a folder of their own, servers that end with them, figures.
# Sourced by them; $root is the project's folder.

say() { printf '\n== %s\n' "$*"; }

need() { # COMMAND PACKAGE: a Debian package that has the command, installed if we may
  command -v "$1" >/dev/null && return
  [ "$(id -u)" = 0 ] && apt-get install -y -qq --no-install-recommends "$2" >/dev/null && return
  echo "$1 is missing: install the package $2" >&2
  exit 2
}

chosen() { # -s SECONDS, -r REPETITIONS and names of parts, of the command line: $seconds, $repetitions, $parts
  parts=()
  while [ $# -gt 0 ]; do
    case $1 in
      -s) seconds=$2; shift 2 ;;
      -r) repetitions=$2; shift 2 ;;
      -*) echo "$1 is not an option: -s SECONDS of a run, -r REPETITIONS, then names of parts" >&2; exit 2 ;;
      *) parts+=("$1"); shift ;;
    esac
  done
}

wants() { # PART: true if it was named, or none was
  [ ${#parts[@]} = 0 ] || [[ " ${parts[*]} " == *" $1 "* ]]
}

build() { # FEATURE...: the program, with these features; in its own folder, whose settings cargo then finds
  [ -z "${SYNCLINE:-}" ] || { syncline=$SYNCLINE; return; } # one that is built already
  (cd "$root" && cargo build --release --locked --quiet ${1:+--features "$*"})
  syncline=${CARGO_TARGET_DIR:-$root/target}/release/syncline
}

build_with_rocksdb() { # FEATURE...: the system's RocksDB stands beside the others where it is installed
  rocksdb=
  if [ -e /usr/include/rocksdb/version.h ] && compgen -G '/usr/lib/llvm-*/lib/libclang.so*' >/dev/null; then
    build rocksdb "$@"
    rocksdb='rocksdb?wal=recycled'
  else
    echo "without RocksDB: librocksdb-dev and libclang-dev are not installed" >&2
    build "$@"
  fi
}

work_in_a_folder() { # below the current directory, gone at the end, and the servers that stand in it
  servers=()
  folder=$(mktemp -d "$PWD/bench-XXXXXX")
  chmod o+x "$folder" # servers run as users of their own
  trap 'stop_servers; rm -rf "$folder"' EXIT
  cd "$folder"
}

private() { # PRODUCT OPTION...: starts a server that ends with the bench; its URLs stand in ${urls[@]}
  local said=$folder/$1.urls
  rm -f "$said" # of one that has ended
  "$syncline" private "$@" --dir "$folder" >"$said" 2>"$folder/$1.log" &
  servers+=($!)
  until [ -s "$said" ]; do
    kill -0 $! 2>/dev/null || { cat "$folder/$1.log" >&2; exit 2; }
    sleep 0.1
  done
  mapfile -t urls <"$said"
}

stop_servers() {
  local server
  for server in "${servers[@]}"; do
    if kill -TERM "$server" 2>/dev/null; then wait "$server" || true; fi
  done
}

cpu_us_each() { # USER_S SYSTEM_S COUNT: microseconds of processor time for each
  awk -v user="$1" -v sys="$2" -v count="$3" 'BEGIN { printf "%.2f", (user + sys) * 1e6 / count }'
}

median() { # of the numbers on standard input, an odd number of them
  sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

in_pairs() { # THE OTHER'S NAME, THEIR COMMAND, OUR COMMAND: each prints a rate and microseconds; $pairs pairs
  local name=$1 theirs=$2 ours=$3 pair rate cpu our_rate our_cpu
  printf '%-6s %12s %14s %7s %10s %14s\n' pair 'ours/s' "$name/s" ratio 'ours us' "$name us"
  for pair in $(seq "$pairs"); do
    read -r rate cpu < <($theirs)
    read -r our_rate our_cpu < <($ours)
    awk -v p="$pair" -v a="$our_rate" -v b="$rate" -v c="$our_cpu" -v d="$cpu" \
      'BEGIN { printf "%-6s %12.0f %14.0f %7.3f %10.2f %14.2f\n", p, a, b, a / b, c, d }'
  done | tee pairs.txt
  printf '%-6s %12s %14s %7s %10s %14s\n' median \
    $(for column in 2 3 4 5 6; do awk -v c="$column" '{ print $c }' pairs.txt | median; done)
}
