# shellcheck shell=bash
# Packages of npm. Sourced.

# npm_packages SOURCE DIRECTORY: installs the packages of SOURCE/package-lock.json in DIRECTORY, unless
# they are there already. If that fails, sets `npm_failure` to the reason, and fails: with 77 when npm
# or its registry is out of reach.
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
      # Errors of the network; any other failure is one of the files in SOURCE.
      if grep -qE '\b(E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|HOSTUNREACH|NETUNREACH)|ERR_SOCKET_TIMEOUT|E?(40[37]|50[0-9])|UNABLE_TO_[A-Z_]+|SELF_SIGNED_CERT_IN_CHAIN)\b' \
        "$directory/npm.log"; then
        npm_failure="npm's registry is out of reach"
        return 77
      fi
      # shellcheck disable=SC2034 # For the caller.
      npm_failure="npm could not install the packages of $source"
      return 1
    }
    cp "$source/package-lock.json" "$directory/installed"
  fi
  flock --unlock 9
}
