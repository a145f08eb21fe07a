# shellcheck shell=bash disable=SC2034
# The Debian packages that the tree needs, under names that Debian 12 and 13 share, and how they are
# installed. Sourced by the scripts beside it; this is the only list.

build_packages=(
  g++ cmake ninja-build ccache pkg-config ca-certificates
  libcaf-dev nlohmann-json3-dev libcpp-httplib-dev libsqlite3-dev libcurl4-openssl-dev
  libcli11-dev libspdlog-dev libssl-dev libuv1-dev libsystemd-dev prometheus-cpp-dev
)
# What people type at a celld that scripts/run has started.
run_packages=(curl)
test_packages=(
  "${run_packages[@]}"
  git catch2 python3 nodejs npm golang-go python3-requests wrk systemd prometheus
)
# Each release's own version of clang: 14 and 19.
fuzz_packages=(clang libclang-rt-dev)
# Both releases carry version 19, so a file is formatted and linted alike on each of them.
check_packages=(clang-format-19 clang-tidy-19 shellcheck)
# What makes a Debian package of the programs.
package_packages=(build-essential debhelper dpkg-dev cmake)
chroot_packages=(mmdebstrap debian-archive-keyring)

die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# as_root COMMAND...: runs it as root, through sudo where that is needed.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# can_be_root: whether as_root has a way to work.
can_be_root() {
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null
}

# missing_packages PACKAGE...: those that are not installed, one a line.
missing_packages() {
  # dpkg-query fails if it knows nothing of one of them, and still tells about the others.
  {
    dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true
    # A Node.js that is not Debian's brings its own npm, and refuses Debian's beside it.
    if command -v npm >/dev/null; then echo "installed npm"; fi
  } | sed -n 's/^installed //p' | sort -u | comm -13 - <(printf '%s\n' "$@" | sort -u)
}

# need_packages PACKAGE...: installs what is missing, and touches neither apt nor the network if
# nothing is.
need_packages() {
  command -v dpkg-query >/dev/null || die "this is not Debian; install what provides: $*"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -gt 0 ] || return 0
  can_be_root || die "not root, and no sudo; have somebody who may do it run: apt-get install ${missing[*]}"
  echo "installing ${missing[*]}" >&2
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  as_root "${apt[@]}" update >&2 || die "apt-get update failed"
  as_root "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >&2 ||
    die "these packages could not be installed: ${missing[*]}"
}
