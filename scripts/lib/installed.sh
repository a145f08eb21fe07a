# shellcheck shell=bash disable=SC2154
# Tests the package in a fresh Debian that has only the package's dependencies: installs it there,
# and then boots that Debian with systemd. Sourced after packages.sh and debian.sh.

# dependencies_of PACKAGE: the names of the packages it depends on, one per line; of alternatives,
# the first.
dependencies_of() {
  dpkg-deb --field "$1" Depends | tr ',' '\n' | sed -E 's/[|(].*//; s/[[:space:]]//g'
}

# package_for RELEASE: builds the package, in a chroot if this machine runs another release. Prints
# its path.
package_for() {
  local here
  here=$(sed -n 's/^VERSION_ID="\(.*\)"$/\1/p' /etc/os-release)
  if [ "$here" = "$1" ]; then
    scripts/package
  else
    local chroot package
    chroot=$(chroot_of "$1")
    package=$(in_debian "$1" /celld/scripts/package | tail -n 1) || exit
    echo "$chroot$package"
  fi
}

# check_package RELEASE
check_package() (
  local package codename scratch directory dependencies
  can_be_root || die "a chroot needs root or sudo"
  codename=$(debian_codename "$1")
  package=$(package_for "$1")
  scratch=$(mktemp -d)
  trap 'as_root rm -rf --one-file-system "$scratch"' EXIT
  directory=$scratch/debian
  mapfile -t dependencies < <(dependencies_of "$package")
  make_chroot "$codename" "$directory" "${dependencies[@]}" systemd
  as_root cp "$package" "$directory/celld.deb"
  as_root cp tests/system/service/installed tests/system/service/booted "$directory"
  in_chroot "$directory" /installed /celld.deb

  in_chroot "$directory" dpkg --install /celld.deb
  boot "$directory" /booted || die "the test under systemd failed; see above"
)
