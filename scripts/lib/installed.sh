# shellcheck shell=bash disable=SC2154
# The package in a Debian of its own, which has what the package depends on and nothing else of
# celld's: installed, and then booted with systemd. Sourced after packages.sh and debian.sh.

# dependencies_of PACKAGE: by name, one a line, the first of alternatives.
dependencies_of() {
  dpkg-deb --field "$1" Depends | tr ',' '\n' | sed -E 's/[|(].*//; s/[[:space:]]//g'
}

# package_for RELEASE: builds it where that release is, and prints where it lies.
package_for() {
  local here
  here=$(sed -n 's/^VERSION_ID="\(.*\)"$/\1/p' /etc/os-release)
  if [ "$here" = "$1" ]; then
    scripts/package
  else
    echo "$(chroot_of "$1")$(in_debian "$1" /celld/scripts/package | tail -n 1)"
  fi
}

# check_package RELEASE
check_package() {
  local package codename directory dependencies
  can_be_root || die "a chroot wants root or sudo"
  codename=$(debian_codename "$1")
  package=$(package_for "$1")
  directory=$(mktemp -d)/debian
  mapfile -t dependencies < <(dependencies_of "$package")
  make_chroot "$codename" "$directory" "${dependencies[@]}" systemd
  as_root cp "$package" "$directory/celld.deb"
  as_root cp tests/system/service/installed tests/system/service/booted "$directory"
  in_chroot "$directory" /installed /celld.deb

  in_chroot "$directory" dpkg --install /celld.deb
  boot "$directory" /booted || die "not all is well under systemd; see above"
  as_root rm -rf --one-file-system "$(dirname "$directory")"
}
