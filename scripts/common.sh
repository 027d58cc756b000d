# Shared by the scripts here: where things are, missing packages, building. Sourced, not run.
# Everything said goes to stderr: stdout belongs to the product and to ctest.
# The caller sets `root` to the top of the repository.

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$1"
  exit "${2:-70}"
}

# Packages of the given groups, one per line.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$root/scripts/packages.txt"
  done
}

# Those of the given packages that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk '$2 == "installed" { print $1 }' || true)
  local package
  for package in "$@"; do
    grep -qxF -- "$package" <<<"$installed" || printf '%s\n' "$package"
  done
}

# Installs what is missing of the given groups on Debian and Ubuntu; elsewhere only says what is needed.
need_packages() {
  local -a wanted missing as_root=()
  mapfile -t wanted < <(packages_of "$@")
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "stepcast: not a Debian system, so nothing is installed; needed are the equivalents of: ${wanted[*]}"
    command -v cmake >/dev/null && command -v ninja >/dev/null ||
      fail "stepcast: cmake and ninja are not there; install these packages and run this again"
    return 0
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null ||
      fail "stepcast: missing packages; run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
    [[ -t 0 ]] || as_root=(sudo -n)
  fi
  say "stepcast: installing ${missing[*]}"
  mkdir -p "$root/build"
  local log=$root/build/packages.log
  local -a quietly=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600)
  {
    "${as_root[@]}" "${quietly[@]}" update &&
      "${as_root[@]}" "${quietly[@]}" install --no-install-recommends "${missing[@]}"
  } </dev/null >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    fail "stepcast: could not install packages; the full log is $log; install by hand: apt-get install ${missing[*]}"
  }
}

# True when the binary is there and no source is newer than the start of its build. A removed or added
# file makes its folder newer.
is_built() {
  [[ -x $root/build/release/stepcast && -e $root/build/release/.built ]] &&
    [[ -z $(find "$root/src" "$root/CMakeLists.txt" -newer "$root/build/release/.built" -print -quit) ]]
}

# Warnings are errors with the compiler that the code is kept clean for; another may know new ones.
warnings_as_errors() {
  [[ $(c++ -dumpversion 2>/dev/null) == 12* ]] && printf 'ON' || printf 'OFF'
}

# Runs a command with all its output in a log. On a terminal its last line is shown as it goes; when the
# command fails, the errors are.
quietly() {
  local log=$1 title=$2
  shift 2
  say "stepcast: $title"
  local code=0
  if [[ -t 2 ]]; then
    "$@" </dev/null 2>&1 | tee -a "$log" |
      awk '{ printf "\r\033[K%s", substr($0, 1, 79); fflush() } END { printf "\r\033[K" }' >&2 ||
      code=$?
  else
    "$@" </dev/null >>"$log" 2>&1 || code=$?
  fi
  if ((code != 0)); then
    grep -E -A 6 'error|Error|FAILED' "$log" | head -n 60 >&2 || tail -n 30 "$log" >&2
    say "stepcast: $title: failed; the full log is $log"
  fi
  return "$code"
}

# Configures build/NAME when it is new or an option changed, then builds the targets.
#   build NAME "CMAKE OPTIONS" TARGET...
build() {
  local dir=$root/build/$1 options=$2
  local log=$dir/build.log
  shift 2
  mkdir -p "$dir"
  : >"$log"
  if [[ ! -e $dir/build.ninja || $(cat "$dir/.options" 2>/dev/null) != "$options" ]]; then
    # shellcheck disable=SC2086  # options are words
    quietly "$log" "configuring ${dir#"$root/"}" cmake -S "$root" -B "$dir" -G Ninja $options || return 70
    printf '%s' "$options" >"$dir/.options"
  fi
  quietly "$log" "building ${dir#"$root/"}" cmake --build "$dir" --target "$@" || return 70
}

# The release build that stepcast and the tests share, so that nothing is compiled twice. One at a time.
#   build_release product | tests
build_release() {
  local what=$1 tests=OFF
  local -a targets=(stepcast)
  mkdir -p "$root/build/release"
  exec 9>"$root/build/.lock"
  flock 9
  if [[ $what == product ]] && is_built; then # another process was faster
    exec 9>&-
    return 0
  fi
  if [[ $what == tests ]]; then
    need_packages product tests
    tests=ON
    targets=(all)
  else
    need_packages product
    # A folder configured with tests stays so.
    grep -q 'STEPCAST_TESTS=ON' "$root/build/release/.options" 2>/dev/null && tests=ON
  fi
  : >"$root/build/release/.started"
  build release "-DSTEPCAST_TESTS=$tests -DSTEPCAST_WERROR=$(warnings_as_errors)" "${targets[@]}" || exit 70
  mv "$root/build/release/.started" "$root/build/release/.built"
  exec 9>&-
}
