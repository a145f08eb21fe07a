# shellcheck shell=bash
# Packages of npm. Sourced.

# npm_reason LOG: the line in which npm says why it failed; the last line, if npm does not say it.
npm_reason() {
  local line
  line=$(sed -nE 's/^npm (error|ERR!) //; T; /^((code|errno|syscall) .*)?$/d; p; q' "$1")
  echo "${line:-$(tail -n1 "$1")}"
}

# npm_packages SOURCE DIRECTORY: installs the packages of SOURCE/package-lock.json in DIRECTORY,
# unless they are there already. If that fails, sets `npm_failure` to the reason, and fails: with 77
# when npm is missing or cannot fetch them, with another status when a file in SOURCE is at fault.
npm_packages() {
  local source=$1 directory=$2 program
  for program in node npm; do
    command -v "$program" >/dev/null || {
      npm_failure="$program is not installed"
      return 77
    }
  done
  mkdir -p "$directory" || return
  # Two programs may start the installation at once.
  exec 9>"$directory/lock"
  flock 9
  if ! cmp --silent "$source/package-lock.json" "$directory/installed"; then
    rm -f "$directory/installed"
    cp "$source/package.json" "$source/package-lock.json" "$source/.npmrc" "$directory" || return
    npm --prefix "$directory" ci >"$directory/npm.log" 2>&1 || {
      cat "$directory/npm.log" >&2
      flock --unlock 9
      # The codes of faults in the files of SOURCE; those of a failed fetch are too many to list.
      if grep -qE '^npm (error|ERR!) code E(USAGE|INTEGRITY|JSONPARSE|NOENT|RESOLVE)$' \
        "$directory/npm.log"; then
        npm_failure="npm could not install the packages of $source"
        return 1
      fi
      # shellcheck disable=SC2034 # For the caller.
      npm_failure="npm cannot fetch packages: $(npm_reason "$directory/npm.log")"
      return 77
    }
    cp "$source/package-lock.json" "$directory/installed"
  fi
  flock --unlock 9
}
