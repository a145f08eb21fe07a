# shellcheck shell=bash disable=SC2034
# The Debian packages that the tree needs, under names that Debian 12 and 13 share, and how the
# scripts install them. Sourced by the scripts beside it; this is the only list.

build_packages=(
  g++ cmake ninja-build ccache pkg-config ca-certificates
  libcaf-dev nlohmann-json3-dev libcpp-httplib-dev libsqlite3-dev libcurl4-openssl-dev
  libcli11-dev libspdlog-dev libssl-dev libuv1-dev libsystemd-dev prometheus-cpp-dev
  libjemalloc-dev
  libhowardhinnant-date-dev tzdata
)
# For the commands that the README shows after scripts/run.
run_packages=(curl procps)
test_packages=(
  "${run_packages[@]}"
  git catch2 python3 nodejs npm golang-go python3-requests wrk libsystemd-shared
  mount openssl sqlite3
)
# Test tools whose packages enable services when apt installs them: unpacked instead, each into its
# directory in build/tools. PACKAGE=PROGRAM; a program that the machine has already is used as it is.
unpacked_packages=(prometheus=promtool systemd=systemd-analyze)
# Servers that tests start by themselves, whose packages enable services, too: unpacked with all that
# they need. DIRECTORY=PROGRAM PACKAGE...
unpacked_servers=(
  "pdns-server=/usr/lib/*/pdns/libgsqlite3backend.so pdns-server pdns-backend-sqlite3"
  "postgresql=/usr/lib/postgresql/*/bin/postgres postgresql"
  "rabbitmq-server=/usr/lib/rabbitmq/bin/rabbitmq-server rabbitmq-server"
)
# The peers of scripts/bench --against. PEER=PACKAGE: their servers' packages enable services too, so
# they are unpacked, each with the libraries that it needs.
peer_packages=(
  beanstalkd=beanstalkd rabbitmq=rabbitmq-server redis=redis-server bullmq=redis-server
  postgresql=postgresql nats=nats-server
)
# PEER=PACKAGE: the libraries of their clients, which are installed.
peer_client_packages=(rabbitmq=librabbitmq-dev postgresql=libpq-dev)
# The storage engine of scripts/bench engines.
engine_packages=(librocksdb-dev)
# The release's own clang: 14 or 19.
fuzz_packages=(clang libclang-rt-dev)
# Both releases have version 19, so formatting and linting are the same on both.
check_packages=(clang-format-19 clang-tidy-19 shellcheck)
# For scripts/package.
package_packages=(build-essential debhelper dpkg-dev cmake)
chroot_packages=(mmdebstrap debian-archive-keyring)

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# as_root COMMAND...: runs the command as root, with sudo if necessary.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# can_be_root: whether as_root can work.
can_be_root() {
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null
}

# missing_packages PACKAGE...: prints those that are not installed, one per line.
missing_packages() {
  # dpkg-query fails if a package is unknown, but still prints the others.
  {
    dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true
    # A Node.js from elsewhere brings its own npm, which conflicts with Debian's.
    if command -v npm >/dev/null; then echo "installed npm"; fi
  } | sed -n 's/^installed //p' | sort -u | comm -13 - <(printf '%s\n' "$@" | sort -u)
}

# Where systemd looks for presets that end with the next boot.
presets=/run/systemd/system-preset

# without_services COMMAND...: runs the command while systemd's presets disable the units of every
# package that it installs, such as the man-db.timer of debhelper's dependency man-db. A unit that
# was enabled before stays so. One that was not starts neither now nor after an upgrade, until an
# administrator enables it. (Debian's deb-systemd-helper asks the presets when a package is first
# installed. Without systemd, no unit starts.)
without_services() {
  (
    if command -v systemctl >/dev/null; then
      trap 'as_root rm -f "$presets/00-celld.preset"' EXIT
      as_root mkdir -p "$presets" || exit
      echo 'disable *' | as_root tee "$presets/00-celld.preset" >/dev/null || exit
    fi
    "$@"
  )
}

# need_packages PACKAGE...: installs missing packages. If none is missing, uses neither apt nor the
# network.
need_packages() {
  command -v dpkg-query >/dev/null || die "this is not Debian; install what provides: $*"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  can_be_root || die "not root, and no sudo; ask an administrator to run: apt-get install ${missing[*]}"
  printf '%s: about to install, with their dependencies and without their services: %s\n' \
    "$(basename "$0")" "${missing[*]}" >&2
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  as_root "${apt[@]}" update >&2 || die "apt-get update failed"
  without_services as_root "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >&2 ||
    die "these packages could not be installed: ${missing[*]}"
}

# unpack_packages DIRECTORY PACKAGE...: unpacks Debian's packages there, and installs nothing. The
# directory exists afterwards if all could be downloaded.
unpack_packages() {
  local directory=$1 scratch apt package
  shift
  # Beside the directory, which is thus renamed into its place at once.
  mkdir -p "$(dirname "$directory")"
  rm -rf "$directory".new-*  # An interrupted run may have left one behind.
  scratch=$(mktemp -d "$directory.new-XXXXXX")
  apt=(apt-get --quiet --quiet -o "APT::Sandbox::User=$(id -un)" -o Acquire::Retries=3)
  # The machine may have no package lists, or old ones.
  if (cd "$scratch" &&
    { "${apt[@]}" download "$@" 2>/dev/null ||
      { as_root apt-get --quiet --quiet update && "${apt[@]}" download "$@"; }; } >&2) &&
    (for package in "$scratch"/*.deb; do
      dpkg-deb --extract "$package" "$scratch/root" || exit
    done); then
    mv "$scratch/root" "$directory"
  else
    echo "$(basename "$0"): $* cannot be downloaded" >&2
  fi
  rm -rf "$scratch"
}

# unpack_tools DIRECTORY: unpacks each of unpacked_packages whose program is missing into
# DIRECTORY/PACKAGE. The tests that need a package that cannot be downloaded are not judged.
unpack_tools() {
  local pair package program
  for pair in "${unpacked_packages[@]}"; do
    package=${pair%=*} program=${pair#*=}
    if command -v "$program" >/dev/null || [ -d "$1/$package" ]; then continue; fi
    echo "$(basename "$0"): unpacking Debian's $package into $1; it is not installed" >&2
    unpack_packages "$1/$package" "$package"
  done
}

# unpack_servers DIRECTORY: unpacks each of unpacked_servers that is missing into DIRECTORY/NAME. The
# tests that need one that cannot be downloaded are not judged.
unpack_servers() {
  local server name program packages wanted
  for server in "${unpacked_servers[@]}"; do
    name=${server%%=*}
    read -r program packages <<<"${server#*=}"
    if compgen -G "$program" >/dev/null || [ -d "$1/$name" ]; then continue; fi
    echo "$(basename "$0"): unpacking Debian's $packages into $1/$name; not installed" >&2
    # The machine may have no package lists, or old ones.
    # shellcheck disable=SC2086  # Several packages.
    if wanted=$(dependencies $packages 2>/dev/null) ||
      { as_root apt-get --quiet --quiet update >&2 && wanted=$(dependencies $packages); }; then
      # shellcheck disable=SC2086
      unpack_packages "$1/$name" $wanted
    else
      echo "$(basename "$0"): $packages cannot be found" >&2
    fi
  done
}

# dependencies PACKAGE...: prints the packages, and what they need that the machine lacks.
dependencies() {
  apt-get --simulate --no-install-recommends --no-upgrade install "$@" |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p'
}

# unpack_with_dependencies PACKAGE DIRECTORY: unpacks an application there, with all that it needs.
unpack_with_dependencies() {
  local wanted
  # The machine may have no package lists, or old ones.
  wanted=$(dependencies "$1" 2>/dev/null) ||
    { as_root apt-get --quiet --quiet update >&2 && wanted=$(dependencies "$1"); } ||
    die "$1 cannot be found"
  mapfile -t wanted <<<"$wanted"
  unpack_packages "$2" "${wanted[@]}"
  [ -d "$2" ] || die "$1 is missing"
}

# need_peer PEER DIRECTORY: unpacks the peer's server into DIRECTORY/PACKAGE unless it is installed,
# and installs what compiling its client takes.
need_peer() {
  local pair package
  for pair in "${peer_client_packages[@]}"; do
    if [ "${pair%=*}" = "$1" ]; then need_packages "${pair#*=}"; fi
  done
  for pair in "${peer_packages[@]}"; do
    package=${pair#*=}
    [ "${pair%=*}" = "$1" ] || continue
    if [ -d "$2/$package" ] || [ -z "$(missing_packages "$package")" ]; then continue; fi
    echo "$(basename "$0"): unpacking Debian's $package into $2; it is not installed" >&2
    unpack_with_dependencies "$package" "$2/$package"
  done
}

# need_test_packages: all that building and running the tests takes.
need_test_packages() {
  need_packages "${build_packages[@]}" "${test_packages[@]}" "${fuzz_packages[@]}" \
    "${package_packages[@]}"
  unpack_tools "$root/build/tools"
  unpack_servers "$root/build/tools"
}
